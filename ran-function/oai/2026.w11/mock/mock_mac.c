/* MAC: asks each UE's RLC for its status and builds a block for those that have something. */
#include <pthread.h>
#include <stdatomic.h>

#include "common/ran_context.h"
#include "openair2/LAYER2/NR_MAC_gNB/mac_proto.h"
#include "openair2/LAYER2/nr_rlc/nr_rlc_oai_api.h"

#define UES 64
#define PDUS 64

static gNB_MAC_INST mac = {.frame_structure = {.numb_slots_frame = 20}};
static gNB_MAC_INST* macs[] = {&mac};
RAN_CONTEXT_t RC = {.nrmac = macs};

tb_size_t mock_block_bytes = 2000;
static atomic_uint scheduled[UES];

static void replace(unsigned from, unsigned to) {
  for (int i = 0; i < UES; ++i) {
    unsigned expected = from;
    if (atomic_compare_exchange_strong(&scheduled[i], &expected, to)) {
      return;
    }
  }
}

void mock_mac_add(uint16_t rnti) {
  replace(0, rnti);
}

void mock_mac_remove(uint16_t rnti) {
  replace(rnti, 0);
}

void gNB_dlsch_ulsch_scheduler(module_id_t module, frame_t frame, slot_t slot,
                               NR_Sched_Rsp_t* response) {
  (void)slot, (void)response;
  static char block[16384];
  for (int i = 0; i < UES; ++i) {
    uint16_t const rnti = (uint16_t)atomic_load(&scheduled[i]);
    if (rnti == 0) {
      continue;
    }
    logical_chan_id_t const lcid[] = {1, 4};
    mac_rlc_status_resp_t status[2] = {0};
    nr_mac_rlc_status_ind(rnti, frame, 2, lcid, status);
    if (status[1].bytes_in_buffer > 0) {
      tb_size_t sizes[PDUS];
      nr_mac_rlc_multi_data_req(module, rnti, true, 4, mock_block_bytes, block, sizes, PDUS);
    }
  }
}
