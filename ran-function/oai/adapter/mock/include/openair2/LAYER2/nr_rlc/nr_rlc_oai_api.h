#ifndef MOCK_RLC_H
#define MOCK_RLC_H

#include "mock_types.h"

typedef struct {
  long logicalChannelIdentity;
} NR_RLC_BearerConfig_t;

void nr_rlc_add_drb(int ue_id, int drb_id, const NR_RLC_BearerConfig_t* config);
void nr_rlc_release_entity(int ue_id, logical_chan_id_t lcid);
void nr_rlc_remove_ue(int ue_id);
bool nr_rlc_update_id(int from_id, int to_id);
rlc_op_status_t nr_rlc_data_req(const protocol_ctxt_t* const ctxt, const srb_flag_t srb,
                                const rb_id_t rb, const mui_t mui, sdu_size_t size, uint8_t* sdu);
void nr_mac_rlc_status_ind(uint16_t ue_id, frame_t frame, int n_ch, const logical_chan_id_t* ch,
                           mac_rlc_status_resp_t* ret);
int nr_mac_rlc_multi_data_req(const module_id_t module, const uint16_t ue_id, const bool gnb,
                              const logical_chan_id_t channel, const tb_size_t tb_size,
                              char* buffer, tb_size_t* pdu_siz, int pdu_siz_len);

logical_chan_id_t nr_rlc_get_lcid_from_rb(int ue_id, bool is_srb, int rb_id);
int nr_rlc_get_available_tx_space(const int ue_id, const logical_chan_id_t channel);

/* Takes the PDU whose last byte left. */
typedef void mock_air_t(uint16_t rnti, const uint8_t* pdu, size_t size);
extern mock_air_t* mock_air;
/* Whether this is F1-U of a CU, which takes a PDU as it comes. */
extern bool mock_rlc_is_f1u;

/* What an RLC buffer holds at most; it rejects more. */
extern int mock_rlc_limit_bytes;

/* Most bytes that an RLC buffer held. */
size_t mock_rlc_peak(void);

#endif
