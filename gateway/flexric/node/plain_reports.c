/* RLC and MAC: FlexRIC's structs are what the plain encoding has on the wire, so a report is copied,
   and the compiler checks that it may be. */
#include <stdlib.h>

#include "sm/mac_sm/ie/mac_data_ie.h"
#include "sm/rlc_sm/ie/rlc_data_ie.h"

#include "cursor.h"
#include "node.h"

_Static_assert(sizeof(rlc_radio_bearer_stats_t) == 152, "RLC record");
_Static_assert(offsetof(rlc_radio_bearer_stats_t, txbuf_occ_bytes) == 40, "RLC occupancy");
_Static_assert(offsetof(rlc_radio_bearer_stats_t, txsdu_bytes) == 104, "RLC SDU bytes");
_Static_assert(offsetof(rlc_radio_bearer_stats_t, txsdu_avg_time_to_tx) == 112, "RLC sojourn");
_Static_assert(offsetof(rlc_radio_bearer_stats_t, txsdu_wt_us) == 120, "RLC head-of-line age");
_Static_assert(offsetof(rlc_radio_bearer_stats_t, rnti) == 144, "RLC RNTI");
_Static_assert(offsetof(rlc_radio_bearer_stats_t, rbid) == 149, "RLC bearer");
_Static_assert(sizeof(mac_ue_stats_impl_t) == 176, "MAC record");
_Static_assert(offsetof(mac_ue_stats_impl_t, pusch_snr) == 64, "MAC SNR");
_Static_assert(offsetof(mac_ue_stats_impl_t, dl_harq) == 80, "MAC HARQ");
_Static_assert(offsetof(mac_ue_stats_impl_t, rnti) == 128, "MAC RNTI");
_Static_assert(offsetof(mac_ue_stats_impl_t, bsr) == 156, "MAC buffer status");
_Static_assert(offsetof(mac_ue_stats_impl_t, phr) == 169, "MAC power headroom");

/* Splits u32 n, n records, i64 time stamp. The records are FlexRIC's to free, which it does when
   there are any. */
static bool split(uint32_t report, size_t record_bytes, uint32_t* n, void** records,
                  int64_t* tstamp) {
  uint8_t bytes[NODE_MESSAGE_BYTES];
  reader_t from = {.at = bytes, .left = node.latest(node.context, report, bytes, sizeof(bytes))};
  *n = take_u32(&from);
  if (from.overrun || from.left != *n * record_bytes + sizeof(*tstamp)) {
    return false;
  }
  if (*n > 0) {
    *records = calloc(*n, record_bytes);
    if (*records == NULL) {
      return false;
    }
    take(&from, *records, *n * record_bytes);
  }
  take(&from, tstamp, sizeof(*tstamp));
  return true;
}

bool node_read_rlc(void* ind_data) {
  rlc_ind_msg_t* msg = &((rlc_ind_data_t*)ind_data)->msg;
  void* records = NULL;
  uint32_t n = 0;
  if (!split(NODE_REPORT_RLC, sizeof(*msg->rb), &n, &records, &msg->tstamp)) {
    return false;
  }
  msg->rb = records;
  msg->len = n;
  return true;
}

bool node_read_mac(void* ind_data) {
  mac_ind_msg_t* msg = &((mac_ind_data_t*)ind_data)->msg;
  void* records = NULL;
  uint32_t n = 0;
  if (!split(NODE_REPORT_MAC, sizeof(*msg->ue_stats), &n, &records, &msg->tstamp)) {
    return false;
  }
  msg->ue_stats = records;
  msg->len_ue_stats = n;
  return true;
}
