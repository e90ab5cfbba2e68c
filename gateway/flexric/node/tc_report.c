/* TC indication: from the plain encoding into FlexRIC's struct, which FlexRIC encodes again. */
#include <stdlib.h>

#include "sm/tc_sm/ie/tc_data_ie.h"

#include "cursor.h"
#include "node.h"

_Static_assert(sizeof(tc_cls_osi_filter_t) == 48, "TC filter");
_Static_assert(offsetof(tc_cls_osi_filter_t, l3) == 8, "TC filter's addresses");
_Static_assert(offsetof(tc_cls_osi_filter_t, l7) == 36, "TC filter's layer 7");
_Static_assert(offsetof(tc_cls_osi_filter_t, dst_queue) == 40, "TC filter's queue");
_Static_assert(sizeof(tc_sch_e) == 4 && sizeof(tc_cls_e) == 4 && sizeof(tc_queue_e) == 4, "enums");

/* Memory for `n` elements that take `bytes` each on the wire; NULL when so many cannot follow. */
static void* room(const reader_t* from, uint32_t n, size_t bytes, size_t size) {
  return n <= from->left / bytes ? calloc(n > 0 ? n : 1, size) : NULL;
}

static tc_mtr_t meter(reader_t* from) {
  tc_mtr_t mtr;
  take(from, mtr.bnd_uint, sizeof(mtr.bnd_uint));
  mtr.time_window_ms = take_u32(from);
  return mtr;
}

static bool scheduler(reader_t* from, tc_sch_t* sch) {
  sch->type = take_u32(from);
  if (sch->type == TC_SCHED_RR) {
    return true;
  }
  if (sch->type != TC_SCHED_PRIO) {
    return false;
  }
  tc_sch_prio_t prio = {.len_q_prio = take_u32(from)};
  prio.q_prio = room(from, prio.len_q_prio, sizeof(uint32_t), sizeof(uint32_t));
  if (prio.q_prio == NULL) {
    sch->type = TC_SCHED_RR;
    return false;
  }
  take(from, prio.q_prio, prio.len_q_prio * sizeof(uint32_t));
  sch->prio = prio;
  return true;
}

static bool classifier(reader_t* from, tc_cls_t* cls) {
  tc_cls_e const type = take_u32(from);
  uint32_t const n = take_u32(from);
  if (type == TC_CLS_RR) {
    cls->rr.dummy = n;
  } else if (type == TC_CLS_STO) {
    cls->sto.dummy = n;
  } else if (type == TC_CLS_OSI) {
    /* FlexRIC frees the filters if there are any. */
    tc_cls_osi_filter_t* filters = NULL;
    if (n > 0) {
      filters = room(from, n, sizeof(*filters), sizeof(*filters));
      if (filters == NULL) {
        return false;
      }
      take(from, filters, n * sizeof(*filters));
    }
    cls->osi = (tc_cls_osi_t){.len = n, .flt = filters};
  } else {
    return false;
  }
  cls->type = type;
  return true;
}

static tc_shp_t shaper(reader_t* from) {
  tc_shp_t shp = {.id = take_u32(from)};
  shp.active = take_u32(from);
  shp.max_rate_kbps = take_u32(from);
  shp.mtr = meter(from);
  return shp;
}

static tc_plc_t policer(reader_t* from) {
  tc_plc_t plc = {.id = take_u32(from)};
  plc.mtr = meter(from);
  plc.drp.dropped_pkts = take_u32(from);
  plc.mrk.marked_pkts = take_u32(from);
  take(from, &plc.max_rate_kbps, sizeof(plc.max_rate_kbps));
  plc.active = take_u32(from);
  plc.dst_id = take_u32(from);
  plc.dev_id = take_u32(from);
  return plc;
}

/* The three kinds differ in the name of one counter alone. */
_Static_assert(sizeof(tc_queue_codel_t) == sizeof(tc_queue_fifo_t), "TC queues");
_Static_assert(sizeof(tc_queue_ecn_codel_t) == sizeof(tc_queue_fifo_t), "TC queues");
_Static_assert(offsetof(tc_queue_ecn_codel_t, mrk) == offsetof(tc_queue_fifo_t, drp), "TC queues");
_Static_assert(offsetof(tc_queue_ecn_codel_t, last_sojourn_time) ==
                   offsetof(tc_queue_fifo_t, last_sojourn_time), "TC queues");

static tc_queue_t queue(reader_t* from) {
  tc_queue_t q = {.type = take_u32(from)};
  q.fifo.bytes = take_u32(from);
  q.fifo.pkts = take_u32(from);
  q.fifo.bytes_fwd = take_u32(from);
  q.fifo.pkts_fwd = take_u32(from);
  q.fifo.drp.dropped_pkts = take_u32(from);
  take(from, &q.fifo.avg_sojourn_time, sizeof(q.fifo.avg_sojourn_time));
  take(from, &q.fifo.last_sojourn_time, sizeof(q.fifo.last_sojourn_time));
  return q;
}

/* Bytes of one queue with its shaper and policer on the wire. */
enum { QUEUE_BYTES = 20 + 36 + 36 };

static bool queues(reader_t* from, tc_ind_msg_t* msg) {
  uint32_t const n = take_u32(from);
  msg->shp = room(from, n, QUEUE_BYTES, sizeof(*msg->shp));
  msg->plc = room(from, n, QUEUE_BYTES, sizeof(*msg->plc));
  msg->q = room(from, n, QUEUE_BYTES, sizeof(*msg->q));
  if (msg->shp == NULL || msg->plc == NULL || msg->q == NULL) {
    return false;
  }
  msg->len_q = n;
  for (uint32_t i = 0; i < n; ++i) {
    msg->shp[i] = shaper(from);
    msg->plc[i] = policer(from);
    msg->q[i] = queue(from);
    if (msg->q[i].type >= TC_QUEUE_END) {
      msg->q[i].type = TC_QUEUE_FIFO;
      return false;
    }
  }
  return true;
}

/* FlexRIC frees what was allocated, also after a failure. */
bool node_read_tc(void* ind_data) {
  tc_ind_msg_t* msg = &((tc_ind_data_t*)ind_data)->msg;
  uint8_t bytes[NODE_MESSAGE_BYTES];
  reader_t from = {.at = bytes,
                   .left = node.latest(node.context, NODE_REPORT_TC, bytes, sizeof(bytes))};
  if (from.left == 0 || !scheduler(&from, &msg->sch)) {
    return false;
  }
  msg->pcr.type = take_u32(&from);
  msg->pcr.id = take_u32(&from);
  msg->pcr.mtr = meter(&from);
  if (msg->pcr.type >= TC_PCR_END || !classifier(&from, &msg->cls) || !queues(&from, msg)) {
    return false;
  }
  take(&from, &msg->tstamp, sizeof(msg->tstamp));
  return all_taken(&from);
}
