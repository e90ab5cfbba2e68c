/* Types that the adapter names. */
#ifndef MOCK_TYPES_H
#define MOCK_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint16_t module_id_t;
typedef uint32_t frame_t;
typedef int slot_t;
typedef uint64_t ue_id_t;
typedef long rb_id_t;
typedef int32_t sdu_size_t;
typedef sdu_size_t tb_size_t;
typedef unsigned int logical_chan_id_t;
typedef unsigned int mui_t;
typedef int confirm_t;
typedef int srb_flag_t;
typedef enum { PDCP_TRANSMISSION_MODE_DATA = 2 } pdcp_transmission_mode_t;
typedef enum { RLC_OP_STATUS_OK = 1 } rlc_op_status_t;

#define SRB_FLAG_NO 0
#define SDU_CONFIRM_NO 0

typedef struct {
  int enb_flag;
  module_id_t module_id;
  ue_id_t rntiMaybeUEid;
} protocol_ctxt_t;

typedef struct {
  uint32_t bytes_in_buffer;
} mac_rlc_status_resp_t;

#endif
