#ifndef MOCK_NR_UP_H
#define MOCK_NR_UP_H

#include "mock_types.h"

typedef enum { NR_UP_DL_OK, NR_UP_DL_ERROR } nr_up_dl_transfer_result_t;
typedef enum { NR_UP_CONGESTION_ALLOW, NR_UP_CONGESTION_DROP } nr_up_congestion_action_t;

typedef struct {
  ue_id_t ue_id;
  uint8_t drb_id;
  int sdu_id;
  uint8_t* buf;
  size_t len;
} nr_up_dl_transfer_req_t;

typedef struct {
  nr_up_dl_transfer_result_t (*deliver_drb)(const nr_up_dl_transfer_req_t* req);
  nr_up_congestion_action_t (*dl_congestion_precheck)(ue_id_t ue_id, rb_id_t drb_id,
                                                      size_t pdu_len);
} nr_up_if_t;

nr_up_if_t* get_nr_up_if(void);
nr_up_congestion_action_t nr_up_dl_congestion_precheck(ue_id_t ue_id, rb_id_t rb_id,
                                                       size_t pdu_len);

#endif
