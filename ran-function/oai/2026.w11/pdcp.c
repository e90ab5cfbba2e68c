/* The wrapped symbols of PDCP: SDUs are held back before they get a sequence number, so that a
   drop or a change of order leaves no gap for the UE to wait for (t-Reordering, 38.323 §5.2.2.2).
   */
#include <stdlib.h>
#include <string.h>
/* Before OAI's headers: netinet/sctp.h defines names that it declares. */
#include <netinet/in.h>

#include "openair2/F1AP/f1ap_ids.h"
#include "openair2/LAYER2/nr_pdcp/nr_pdcp_oai_api.h"
#include "openair2/LAYER2/nr_rlc/nr_rlc_oai_api.h"

#include "adapter.h"

typedef void deliver_t(void*, ue_id_t, int, char*, int, int);
typedef nr_pdcp_entity_t* new_entity_t(nr_pdcp_entity_type_t, int, int, int, bool, bool,
                                       void (*)(void*, struct nr_pdcp_entity_s*, char*, int,
                                                const nr_pdcp_integrity_data_t*),
                                       void*, deliver_t*, void*, int, int, int,
                                       const nr_pdcp_entity_security_keys_and_algos_t*);
typedef bool data_req_t(protocol_ctxt_t*, const srb_flag_t, const rb_id_t, const mui_t,
                        const confirm_t, const sdu_size_t, unsigned char* const,
                        const pdcp_transmission_mode_t, const uint32_t* const,
                        const uint32_t* const);
SHAPE(new_nr_pdcp_entity, new_entity_t);
SHAPE(nr_pdcp_data_req_drb, data_req_t);
SHAPE(nr_pdcp_release_drb, void(ue_id_t, int));
SHAPE(nr_pdcp_remove_UE, void(ue_id_t));
SHAPE(nr_rlc_data_req, rlc_op_status_t(const protocol_ctxt_t* const, const srb_flag_t,
                                       const rb_id_t, const mui_t, sdu_size_t, uint8_t*));

WRAPPED(new_nr_pdcp_entity);
WRAPPED(nr_pdcp_data_req_drb);
WRAPPED(nr_pdcp_release_drb);
WRAPPED(nr_pdcp_remove_UE);

new_entity_t WRAP(new_nr_pdcp_entity);
data_req_t WRAP(nr_pdcp_data_req_drb);
void WRAP(nr_pdcp_release_drb)(ue_id_t ue, int drb);
void WRAP(nr_pdcp_remove_UE)(ue_id_t ue);

bool adapter_pdcp_wrapped(void) {
  bool const added = IS_WRAPPED(new_nr_pdcp_entity);
  bool const data = IS_WRAPPED(nr_pdcp_data_req_drb);
  bool const released = IS_WRAPPED(nr_pdcp_release_drb);
  bool const removed = IS_WRAPPED(nr_pdcp_remove_UE);
  return added && data && released && removed;
}

/* OAI's own way of a PDCP PDU to the RLC: a queue with a thread of its own. The same for all DRBs of
   a gNB. */
static deliver_t* queue_for_rlc;

/* What this thread is handing down, for deliver(), which PDCP calls without a place for it. */
static _Thread_local struct {
  bool active;
  uint32_t rnti;
  int64_t in_rlc;
} handing;

typedef struct {
  uint32_t rnti;
  int drb;
  mui_t mui;
  sdu_size_t size;
  uint8_t* pdu;
} for_rlc_t;

/* PDUs of this thread for the RLC while it has PDCP: a transport block's. The memory is kept. */
static _Thread_local struct {
  for_rlc_t* pdus;
  size_t count;
  size_t room;
} kept;

static void to_rlc(const for_rlc_t* one) {
  protocol_ctxt_t const ctxt = {.enb_flag = 1, .rntiMaybeUEid = one->rnti};
  /* Frees the PDU. */
  nr_rlc_data_req(&ctxt, SRB_FLAG_NO, one->drb, one->mui, one->size, one->pdu);
}

void adapter_flush_to_rlc(void) {
  for (size_t i = 0; i < kept.count; ++i) {
    to_rlc(&kept.pdus[i]);
  }
  kept.count = 0;
}

static bool keep(const for_rlc_t* one) {
  if (kept.count == kept.room) {
    size_t const room = kept.room == 0 ? 64 : 2 * kept.room;
    for_rlc_t* more = realloc(kept.pdus, room * sizeof(*more));
    if (more == NULL) {
      return false;
    }
    kept.pdus = more;
    kept.room = room;
  }
  kept.pdus[kept.count++] = *one;
  return true;
}

/* What PDCP and RLC have cost this thread for SDUs that the host handed down. */
static _Thread_local uint64_t forwarded_ns;

/* Stands where PDCP hands a PDU of a DRB to the RLC. SDUs that the host hands down go to the RLC in
   this call: in OAI's queue the MAC could neither count them nor take them for the block that it is
   building. Others, and all in a CU, take OAI's way. */
static void deliver(void* data, ue_id_t ue, int drb, char* pdu, int size, int sdu_id) {
  if (!handing.active || handing.rnti == SOJOURN_GNB_NO_RNTI || !adapter_has_mac()) {
    queue_for_rlc(data, ue, drb, pdu, size, sdu_id);
    handing.in_rlc = size;
    return;
  }
  uint8_t* copy = malloc((size_t)size);
  if (copy == NULL) {
    return;
  }
  memcpy(copy, pdu, (size_t)size);
  for_rlc_t const one = {
      .rnti = handing.rnti, .drb = drb, .mui = (mui_t)sdu_id, .size = size, .pdu = copy};
  if (!adapter_pdcp_held()) {
    to_rlc(&one);
  } else if (!keep(&one)) {
    free(copy);
    return;
  }
  handing.in_rlc = size;
}

int64_t adapter_forward(void* context, sojourn_gnb_bearer_t bearer, const uint8_t* sdu,
                        uint32_t length) {
  (void)context;
  uint64_t const began_ns = adapter_slot_clock_ns();
  handing.active = true;
  handing.rnti = bearer.rnti;
  handing.in_rlc = -1;
  protocol_ctxt_t ctxt = {.enb_flag = 1, .rntiMaybeUEid = bearer.ue};
  /* PDCP reads the SDU; its interface has no const. */
  REAL(nr_pdcp_data_req_drb)(&ctxt, SRB_FLAG_NO, bearer.drb, 0, SDU_CONFIRM_NO,
                             (sdu_size_t)length, (unsigned char*)sdu, PDCP_TRANSMISSION_MODE_DATA,
                             NULL, NULL);
  handing.active = false;
  forwarded_ns += adapter_slot_clock_ns() - began_ns;
  return handing.in_rlc;
}

uint64_t adapter_take_forwarded_ns(void) {
  uint64_t const took_ns = forwarded_ns;
  forwarded_ns = 0;
  return took_ns;
}

bool WRAP(nr_pdcp_data_req_drb)(protocol_ctxt_t* ctxt, const srb_flag_t srb, const rb_id_t drb,
                                const mui_t mui, const confirm_t confirm, const sdu_size_t size,
                                unsigned char* const sdu, const pdcp_transmission_mode_t mode,
                                const uint32_t* const source, const uint32_t* const destination) {
  if (srb == SRB_FLAG_NO && size > 0 && drb > 0 && drb < 256 &&
      sojourn_gnb_packet_in(adapter_gnb(), ctxt->rntiMaybeUEid, (uint8_t)drb, sdu, (uint32_t)size,
                            adapter_now_us())) {
    return true;
  }
  return REAL(nr_pdcp_data_req_drb)(ctxt, srb, drb, mui, confirm, size, sdu, mode, source,
                                    destination);
}

/* OAI calls it with PDCP's lock held: nothing here may wait for a thread that waits for PDCP. */
nr_pdcp_entity_t* WRAP(new_nr_pdcp_entity)(
    nr_pdcp_entity_type_t type, int is_gnb, int rb_id, int pdu_session, bool sdap_rx, bool sdap_tx,
    void (*deliver_sdu)(void*, struct nr_pdcp_entity_s*, char*, int,
                        const nr_pdcp_integrity_data_t*),
    void* deliver_sdu_data, deliver_t* deliver_pdu, void* deliver_pdu_data, int sn_size,
    int t_reordering, int discard_timer,
    const nr_pdcp_entity_security_keys_and_algos_t* security) {
  deliver_t* way = deliver_pdu;
  sojourn_gnb_t* gnb = adapter_gnb();
  if (gnb != NULL && is_gnb && type != NR_PDCP_SRB && deliver_pdu_data != NULL) {
    const nr_pdcp_ue_t* ue = deliver_pdu_data;
    if (sojourn_gnb_bearer_up(gnb, ue->ue_id, (uint8_t)rb_id, sdap_tx, adapter_now_us())) {
      queue_for_rlc = deliver_pdu;
      way = deliver;
    }
  }
  return REAL(new_nr_pdcp_entity)(type, is_gnb, rb_id, pdu_session, sdap_rx, sdap_tx, deliver_sdu,
                                  deliver_sdu_data, way, deliver_pdu_data, sn_size, t_reordering,
                                  discard_timer, security);
}

void WRAP(nr_pdcp_release_drb)(ue_id_t ue, int drb) {
  sojourn_gnb_bearer_down(adapter_gnb(), ue, (uint8_t)drb, adapter_now_us());
  REAL(nr_pdcp_release_drb)(ue, drb);
}

void WRAP(nr_pdcp_remove_UE)(ue_id_t ue) {
  sojourn_gnb_ue_gone(adapter_gnb(), ue, adapter_now_us());
  REAL(nr_pdcp_remove_UE)(ue);
}
