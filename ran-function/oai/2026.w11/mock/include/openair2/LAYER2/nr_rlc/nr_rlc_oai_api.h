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

/* Takes the PDU whose last byte left. */
typedef void mock_air_t(uint16_t rnti, const uint8_t* pdu, size_t size);
extern mock_air_t* mock_air;

/* Most bytes that an RLC buffer held. */
size_t mock_rlc_peak(void);

#endif
