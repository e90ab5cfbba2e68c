/* MAC: asks the RLC of each UE of a cell for its status and builds a block for those that have something. */
#include <pthread.h>
#include <stdatomic.h>

#include "common/ran_context.h"
#include "openair2/LAYER2/NR_MAC_gNB/mac_proto.h"
#include "openair2/LAYER2/nr_rlc/nr_rlc_oai_api.h"
#if MOCK_CELLS > 1
#include "openair2/LAYER2/NR_MAC_gNB/nr_mac_cell.h"
#endif

#define UES 64
#define PDUS 64

tb_size_t mock_block_bytes = 2000;

/* A UE as its cell and RNTI. */
static atomic_uint scheduled[UES];
/* As in OAI one cell is scheduled at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#if MOCK_CELLS > 1
static gNB_MAC_INST mac = {.cells = {{{20}}, {{10}}}};

nr_cell_sched_t* nr_mac_get_cell_by_phy_id(gNB_MAC_INST* of, uint16_t phy_id) {
  return &of->cells[phy_id];
}

void mock_mac_set_slots(int cell, int8_t slots) {
  mac.cells[cell].frame_structure.numb_slots_frame = slots;
}
#else
static gNB_MAC_INST mac = {.frame_structure = {20}};

void mock_mac_set_slots(int cell, int8_t slots) {
  (void)cell;
  mac.frame_structure.numb_slots_frame = slots;
}
#endif
static gNB_MAC_INST* macs[] = {&mac};
RAN_CONTEXT_t RC = {.nrmac = macs};

static void replace(unsigned from, unsigned to) {
  for (int i = 0; i < UES; ++i) {
    unsigned expected = from;
    if (atomic_compare_exchange_strong(&scheduled[i], &expected, to)) {
      return;
    }
  }
}

void mock_mac_add(int cell, uint16_t rnti) {
  replace(0, (unsigned)cell << 16 | rnti);
}

void mock_mac_remove(uint16_t rnti) {
  for (unsigned cell = 0; cell < MOCK_CELLS; ++cell) {
    replace(cell << 16 | rnti, 0);
  }
}

static void schedule(module_id_t module, int cell, frame_t frame) {
  static char block[16384];
  pthread_mutex_lock(&lock);
  for (int i = 0; i < UES; ++i) {
    unsigned const ue = atomic_load(&scheduled[i]);
    uint16_t const rnti = (uint16_t)ue;
    if (rnti == 0 || (int)(ue >> 16) != cell) {
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
  pthread_mutex_unlock(&lock);
}

#if MOCK_CELLS > 1
void gNB_dlsch_ulsch_scheduler(module_id_t module, const int cell_id, frame_t frame, slot_t slot,
                               NR_Sched_Rsp_t* response) {
  (void)slot, (void)response;
  schedule(module, cell_id, frame);
}
#else
void gNB_dlsch_ulsch_scheduler(module_id_t module, frame_t frame, slot_t slot,
                               NR_Sched_Rsp_t* response) {
  (void)slot, (void)response;
  schedule(module, 0, frame);
}
#endif
