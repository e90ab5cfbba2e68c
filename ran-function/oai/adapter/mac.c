/* The wrapped symbols of the MAC: its question for the RLC's buffer status and its pull for a
   transport block. Both are called by the thread that schedules (`L1_tx_thread`), within a slot of a
   cell. */
#include "openair2/LAYER2/nr_rlc/nr_rlc_oai_api.h"

#include "adapter.h"

SHAPE(nr_mac_rlc_status_ind,
      void(uint16_t, frame_t, int, const logical_chan_id_t*, mac_rlc_status_resp_t*));
SHAPE(nr_mac_rlc_multi_data_req,
      int(const module_id_t, const uint16_t, const bool, const logical_chan_id_t, const tb_size_t,
          char*, tb_size_t*, int));
_Static_assert(sizeof(((mac_rlc_status_resp_t*)0)->bytes_in_buffer) == 4,
               "another OAI generation: the RLC's buffer status is no 32-bit number");

WRAPPED(nr_mac_rlc_status_ind);
WRAPPED(nr_mac_rlc_multi_data_req);

/* Logical channels 1 to 3 are those of SRBs (38.331 §9.2.1). */
#define FIRST_DRB_CHANNEL 4
/* What OAI itself says at most (nr_rlc_oai_api.c). */
#define MAX_STATUS_BYTES 1000000
/* Slot of numerology 1, until a cell says what it is (38.211 §4.3.2). */
#define SLOT_US 500

/* Length of the slot that this thread schedules. */
static _Thread_local uint32_t slot_us = SLOT_US;
/* What the library's calls have cost in this slot so far, with PDCP and RLC for the SDUs that it handed
   down. */
static _Thread_local uint64_t spent_ns;
static _Thread_local bool fills_block;

bool adapter_mac_wrapped(void) {
  bool const asked = IS_WRAPPED(nr_mac_rlc_status_ind);
  bool const pulled = IS_WRAPPED(nr_mac_rlc_multi_data_req);
  return asked && pulled;
}

bool adapter_fills_block(void) {
  return fills_block;
}

void adapter_slot_begins(int cell, int slots) {
  if (slots > 0) {
    slot_us = 10000 / (uint32_t)slots;
    adapter_mac_ticked();
    adapter_pace(cell, slot_us);
  }
}

void adapter_slot_ended(int cell) {
  uint64_t const below_ns = adapter_take_forwarded_ns();
  sojourn_gnb_slot_took(adapter_gnb(), (uint32_t)cell, slot_us, spent_ns - below_ns, below_ns);
  spent_ns = 0;
}

void WRAP(nr_mac_rlc_status_ind)(uint16_t rnti, frame_t frame, int channels,
                                 const logical_chan_id_t* lcid, mac_rlc_status_resp_t* status) {
  REAL(nr_mac_rlc_status_ind)(rnti, frame, channels, lcid, status);
  sojourn_gnb_t* gnb = adapter_gnb();
  if (gnb == NULL) {
    return;
  }
  uint64_t const began_ns = adapter_slot_clock_ns();
  uint64_t const now_us = adapter_now_us();
  for (int i = 0; i < channels; ++i) {
    if (lcid[i] < FIRST_DRB_CHANNEL) {
      continue;
    }
    uint32_t const in_rlc = (uint32_t)status[i].bytes_in_buffer;
    uint64_t const total =
        (uint64_t)in_rlc +
        sojourn_gnb_status_asked(gnb, rnti, (uint8_t)lcid[i], slot_us, in_rlc, now_us);
    if (total > in_rlc) {
      status[i].bytes_in_buffer = total > MAX_STATUS_BYTES ? MAX_STATUS_BYTES : (uint32_t)total;
    }
  }
  spent_ns += adapter_slot_clock_ns() - began_ns;
}

int WRAP(nr_mac_rlc_multi_data_req)(const module_id_t module, const uint16_t rnti, const bool gnb,
                                    const logical_chan_id_t lcid, const tb_size_t block_bytes,
                                    char* buffer, tb_size_t* pdu_sizes, int pdus) {
  sojourn_gnb_t* host = adapter_gnb();
  if (host != NULL && gnb && lcid >= FIRST_DRB_CHANNEL && block_bytes > 0) {
    uint64_t const began_ns = adapter_slot_clock_ns();
    mac_rlc_status_resp_t status = {0};
    /* Asked here: SRBs, retransmissions and other DRBs of the UE came first. The frame is for a
       message about unknown channels, which OAI writes in every 128th. */
    REAL(nr_mac_rlc_status_ind)(rnti, 1, 1, &lcid, &status);
    fills_block = true;
    sojourn_gnb_block_pulled(host, rnti, (uint8_t)lcid, slot_us, (uint32_t)block_bytes,
                             (uint32_t)status.bytes_in_buffer, adapter_now_us());
    fills_block = false;
    spent_ns += adapter_slot_clock_ns() - began_ns;
  }
  return REAL(nr_mac_rlc_multi_data_req)(module, rnti, gnb, lcid, block_bytes, buffer, pdu_sizes,
                                         pdus);
}
