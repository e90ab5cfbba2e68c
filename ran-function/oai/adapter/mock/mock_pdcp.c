/* PDCP: entities of all UEs under one lock, which is held for a delivery. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "openair2/F1AP/f1ap_ids.h"
#include "openair2/LAYER2/nr_pdcp/nr_pdcp_oai_api.h"
#include "openair2/LAYER2/nr_rlc/nr_rlc_oai_api.h"
#ifndef MOCK_DELIVER_PDU
#include "openair2/LAYER2/nr_up/nr_up.h"
#endif

#define UES 64
#define DRBS 32

void (*mock_device)(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static nr_pdcp_ue_t ues[UES];

/* The entity with the lock, null without it. */
static nr_pdcp_entity_t* take(ue_id_t ue, int drb) {
  pthread_mutex_lock(&lock);
  nr_pdcp_entity_t* entity = ues[ue % UES].drb[drb - 1];
  if (entity == NULL) {
    pthread_mutex_unlock(&lock);
  }
  return entity;
}

static void to_rlc(ue_id_t ue, int drb, const char* pdu, int size, int sdu_id) {
  uint8_t* copy = malloc((size_t)size);
  memcpy(copy, pdu, (size_t)size);
  protocol_ctxt_t const ctxt = {.enb_flag = 1,
                                .rntiMaybeUEid = cu_get_f1_ue_data((uint32_t)ue).secondary_ue};
  nr_rlc_data_req(&ctxt, SRB_FLAG_NO, drb, (mui_t)sdu_id, size, copy);
}

static void deliver_sdu(void* data, nr_pdcp_entity_t* entity, char* buffer, int size,
                        const nr_pdcp_integrity_data_t* integrity) {
  (void)data, (void)entity, (void)buffer, (void)size, (void)integrity;
  mock_device();
}

#ifdef MOCK_DELIVER_PDU
static void deliver_pdu(void* data, ue_id_t ue, int drb, char* pdu, int size, int sdu_id) {
  (void)data;
  to_rlc(ue, drb, pdu, size, sdu_id);
}
#else
static nr_up_dl_transfer_result_t deliver_drb(const nr_up_dl_transfer_req_t* req) {
  to_rlc(req->ue_id, req->drb_id, (const char*)req->buf, (int)req->len, req->sdu_id);
  return NR_UP_DL_OK;
}

static nr_up_congestion_action_t precheck(ue_id_t ue, rb_id_t drb, size_t pdu_len) {
  int const rnti = (int)cu_get_f1_ue_data((uint32_t)ue).secondary_ue;
  logical_chan_id_t const lcid = nr_rlc_get_lcid_from_rb(rnti, false, (int)drb);
  bool const fits = lcid == 0 || nr_rlc_get_available_tx_space(rnti, lcid) >= (int)pdu_len;
  return fits ? NR_UP_CONGESTION_ALLOW : NR_UP_CONGESTION_DROP;
}

nr_up_if_t* get_nr_up_if(void) {
  static nr_up_if_t table = {.deliver_drb = deliver_drb, .dl_congestion_precheck = precheck};
  return &table;
}

nr_up_congestion_action_t nr_up_dl_congestion_precheck(ue_id_t ue, rb_id_t drb, size_t pdu_len) {
  return get_nr_up_if()->dl_congestion_precheck(ue, drb, pdu_len);
}
#endif

void mock_pdcp_add_drb(ue_id_t ue, int drb) {
  nr_pdcp_entity_security_keys_and_algos_t const security = {0};
  pthread_mutex_lock(&lock);
  nr_pdcp_ue_t* one = &ues[ue % UES];
  one->ue_id = ue;
  one->drb[drb - 1] =
      new_nr_pdcp_entity(NR_PDCP_DRB_AM, 1, drb, 1, false, false, deliver_sdu, one,
#ifdef MOCK_DELIVER_PDU
                         deliver_pdu, one,
#endif
                         18, 100, -1, &security);
  pthread_mutex_unlock(&lock);
}

bool nr_pdcp_data_req_drb(protocol_ctxt_t* ctxt, const srb_flag_t srb, const rb_id_t rb,
                          const mui_t mui, const confirm_t confirm, const sdu_size_t size,
                          unsigned char* const sdu, const pdcp_transmission_mode_t mode,
                          const uint32_t* const source, const uint32_t* const destination) {
  (void)srb, (void)confirm, (void)mode, (void)source, (void)destination;
  ue_id_t const ue = ctxt->rntiMaybeUEid;
  nr_pdcp_entity_t* entity = take(ue, (int)rb);
  if (entity == NULL) {
    return false;
  }
#ifndef MOCK_DELIVER_PDU
  if (nr_up_dl_congestion_precheck(ue, rb, (size_t)nr_max_pdcp_pdu_size(size)) ==
      NR_UP_CONGESTION_DROP) {
    pthread_mutex_unlock(&lock);
    return false;
  }
#endif
  char pdu[9000];
  int const bytes =
      entity->process_sdu(entity, (char*)sdu, size, (int)mui, pdu, (int)sizeof(pdu));
#ifdef MOCK_DELIVER_PDU
  void (*hand_on)(void*, ue_id_t, int, char*, int, int) = entity->deliver_pdu;
#endif
  pthread_mutex_unlock(&lock);
  if (bytes < 0) {
    return false;
  }
#ifdef MOCK_DELIVER_PDU
  hand_on(NULL, ue, (int)rb, pdu, bytes, (int)mui);
#else
  nr_up_dl_transfer_req_t const request = {.ue_id = ue,
                                           .drb_id = (uint8_t)rb,
                                           .sdu_id = (int)mui,
                                           .buf = (uint8_t*)pdu,
                                           .len = (size_t)bytes};
  get_nr_up_if()->deliver_drb(&request);
#endif
  return true;
}

void mock_pdcp_receive(ue_id_t ue, int drb) {
  nr_pdcp_entity_t* entity = take(ue, drb);
  if (entity != NULL) {
    char sdu[40] = {0};
    entity->recv_pdu(entity, sdu, (int)sizeof(sdu));
    pthread_mutex_unlock(&lock);
  }
}

void nr_pdcp_suspend_drb(ue_id_t ue, int drb) {
  nr_pdcp_entity_t* entity = take(ue, drb);
  if (entity != NULL) {
    entity->suspend_entity(entity);
    pthread_mutex_unlock(&lock);
  }
}

void nr_pdcp_reestablishment(ue_id_t ue, int rb, bool srb,
                             const nr_pdcp_entity_security_keys_and_algos_t* security) {
  (void)srb;
  nr_pdcp_entity_t* entity = take(ue, rb);
  if (entity != NULL) {
    entity->reestablish_entity(entity, security);
    pthread_mutex_unlock(&lock);
  }
}

bool nr_pdcp_get_statistics(ue_id_t ue, int srb, int rb, nr_pdcp_statistics_t* out) {
  (void)srb;
  nr_pdcp_entity_t* entity = take(ue, rb);
  if (entity == NULL) {
    return false;
  }
  entity->get_stats(entity, out);
  pthread_mutex_unlock(&lock);
  return true;
}

void nr_pdcp_release_drb(ue_id_t ue, int drb) {
  nr_pdcp_entity_t* entity = take(ue, drb);
  if (entity != NULL) {
    entity->release_entity(entity);
    entity->delete_entity(entity);
    ues[ue % UES].drb[drb - 1] = NULL;
    pthread_mutex_unlock(&lock);
  }
}

void nr_pdcp_remove_UE(ue_id_t ue) {
  for (int drb = 1; drb <= DRBS; ++drb) {
    nr_pdcp_entity_t* entity = take(ue, drb);
    if (entity != NULL) {
      entity->delete_entity(entity);
      ues[ue % UES].drb[drb - 1] = NULL;
      pthread_mutex_unlock(&lock);
    }
  }
}
