/* TC control: FlexRIC's struct back into the plain encoding it was decoded from. */
#include "sm/tc_sm/ie/tc_data_ie.h"

#include "cursor.h"
#include "node.h"

_Static_assert(sizeof(tc_mod_ctrl_plc_t) == 20, "policer: five values in the order of the wire");
_Static_assert(sizeof(tc_mod_ctrl_shp_t) == 16, "shaper: four values in the order of the wire");
_Static_assert(sizeof(tc_cls_osi_filter_t) == 48, "filter: the struct is on the wire");
_Static_assert(offsetof(tc_mod_ctrl_shp_t, time_window_ms) == 4, "shaper's order");
_Static_assert(offsetof(tc_mod_ctrl_plc_t, dev_id) == 8, "policer's order");

static void add_classifier(writer_t* to, const tc_add_ctrl_cls_t* add) {
  put_u32(to, add->type);
  if (add->type != TC_CLS_OSI) {
    put_u32(to, add->rr.dummy);
    return;
  }
  put(to, &add->osi.l3, sizeof(add->osi.l3));
  put(to, &add->osi.l4, sizeof(add->osi.l4));
  /* No layer 7 on the wire. */
  put(to, &add->osi.dst_queue, sizeof(add->osi.dst_queue));
}

static void modify_classifier(writer_t* to, const tc_mod_ctrl_cls_t* mod) {
  put_u32(to, mod->type);
  if (mod->type == TC_CLS_OSI) {
    put(to, &mod->osi.filter, sizeof(mod->osi.filter));
  } else {
    put_u32(to, mod->rr.dummy);
  }
}

static void classifier(writer_t* to, const tc_ctrl_cls_t* cls) {
  put_u32(to, cls->act);
  if (cls->act == TC_CTRL_ACTION_SM_V0_ADD) {
    add_classifier(to, &cls->add);
  } else if (cls->act == TC_CTRL_ACTION_SM_V0_MOD) {
    modify_classifier(to, &cls->mod);
  } else {
    put_u32(to, cls->del.type);
    /* A filter id, or a value without meaning. */
    put_u32(to, cls->del.osi.filter_id);
  }
}

static void policer(writer_t* to, const tc_ctrl_plc_t* plc) {
  put_u32(to, plc->act);
  if (plc->act == TC_CTRL_ACTION_SM_V0_MOD) {
    put(to, &plc->mod, sizeof(plc->mod));
  } else {
    put_u32(to, plc->del.id);
  }
}

static void discipline(writer_t* to, tc_queue_e type, const tc_ctrl_queue_codel_t* codel) {
  put_u32(to, type);
  put_u32(to, codel->target_ms);
  if (type != TC_QUEUE_FIFO) {
    put_u32(to, codel->interval_ms);
  }
}

static void queue(writer_t* to, const tc_ctrl_queue_t* q) {
  put_u32(to, q->act);
  if (q->act == TC_CTRL_ACTION_SM_V0_ADD) {
    discipline(to, q->add.type, &q->add.codel);
    return;
  }
  put_u32(to, q->mod.id);
  if (q->act == TC_CTRL_ACTION_SM_V0_MOD) {
    discipline(to, q->mod.type, &q->mod.codel);
  } else {
    put_u32(to, q->del.type);
  }
}

static void scheduler(writer_t* to, const tc_ctrl_sch_t* sch) {
  put_u32(to, sch->act);
  if (sch->act != TC_CTRL_ACTION_SM_V0_MOD) {
    put_u32(to, sch->add.dummy);
    return;
  }
  put_u32(to, sch->mod.type);
  if (sch->mod.type != TC_SCHED_PRIO) {
    put_u32(to, sch->mod.rr.dummy);
    return;
  }
  put_u32(to, sch->mod.prio.len_q_prio);
  put(to, sch->mod.prio.q_prio, sch->mod.prio.len_q_prio * sizeof(uint32_t));
}

static void shaper(writer_t* to, const tc_ctrl_shp_t* shp) {
  put_u32(to, shp->act);
  if (shp->act == TC_CTRL_ACTION_SM_V0_MOD) {
    put(to, &shp->mod, sizeof(shp->mod));
  } else {
    put_u32(to, shp->del.id);
  }
}

static void pacer(writer_t* to, const tc_ctrl_pcr_t* pcr) {
  put_u32(to, pcr->act);
  if (pcr->act != TC_CTRL_ACTION_SM_V0_MOD) {
    put_u32(to, pcr->add.dummy);
    return;
  }
  put_u32(to, pcr->mod.type);
  if (pcr->mod.type != TC_PCR_5G_BDP) {
    put_u32(to, pcr->mod.dummy.dummy);
    return;
  }
  put_u32(to, pcr->mod.bdp.drb_sz);
  put(to, &pcr->mod.bdp.tstamp, sizeof(pcr->mod.bdp.tstamp));
}

size_t node_tc_control_header(const void* ctrl, uint8_t* out, size_t capacity) {
  writer_t to = {.start = out, .capacity = capacity};
  put_u32(&to, ((const tc_ctrl_req_data_t*)ctrl)->hdr.dummy);
  return written(&to);
}

size_t node_tc_control_message(const void* ctrl, uint8_t* out, size_t capacity) {
  const tc_ctrl_msg_t* msg = &((const tc_ctrl_req_data_t*)ctrl)->msg;
  writer_t to = {.start = out, .capacity = capacity};
  put_u32(&to, msg->type);
  switch (msg->type) {
    case TC_CTRL_SM_V0_CLS: classifier(&to, &msg->cls); break;
    case TC_CTRL_SM_V0_PLC: policer(&to, &msg->plc); break;
    case TC_CTRL_SM_V0_QUEUE: queue(&to, &msg->q); break;
    case TC_CTRL_SM_V0_SCH: scheduler(&to, &msg->sch); break;
    case TC_CTRL_SM_V0_SHP: shaper(&to, &msg->shp); break;
    case TC_CTRL_SM_V0_PCR: pacer(&to, &msg->pcr); break;
    /* FlexRIC's decoder accepts no other. */
    case TC_CTRL_SM_V0_END: return 0;
  }
  return written(&to);
}
