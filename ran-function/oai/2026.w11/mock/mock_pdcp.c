/* PDCP: numbers SDUs under one lock and hands PDUs on without it. */
#include <stdlib.h>
#include <string.h>

#include "openair2/F1AP/f1ap_ids.h"
#include "openair2/LAYER2/nr_pdcp/nr_pdcp_oai_api.h"
#include "openair2/LAYER2/nr_pdcp/nr_pdcp_ue_manager.h"
#include "openair2/LAYER2/nr_rlc/nr_rlc_oai_api.h"

#define HEADER_BYTES 3

static nr_pdcp_ue_t ues[64];

/* The way to the RLC without the adapter; a queue with a thread in OAI. */
static void to_rlc(void* data, ue_id_t ue, int drb, char* pdu, int size, int sdu_id) {
  (void)data;
  uint8_t* copy = malloc((size_t)size);
  memcpy(copy, pdu, (size_t)size);
  protocol_ctxt_t const ctxt = {.enb_flag = 1,
                                .rntiMaybeUEid = cu_get_f1_ue_data((uint32_t)ue).secondary_ue};
  nr_rlc_data_req(&ctxt, SRB_FLAG_NO, drb, (mui_t)sdu_id, size, copy);
}

void mock_pdcp_add_drb(ue_id_t ue, int drb) {
  nr_pdcp_manager_lock(NULL);
  nr_pdcp_ue_t* one = &ues[ue % 64];
  one->ue_id = ue;
  one->drb[drb - 1] = new_nr_pdcp_entity(NR_PDCP_DRB_AM, 1, drb, 1, false, false, NULL, one, to_rlc,
                                         one, 18, 100, -1, NULL);
  nr_pdcp_manager_unlock(NULL);
}

bool nr_pdcp_data_req_drb(protocol_ctxt_t* ctxt, const srb_flag_t srb, const rb_id_t rb,
                          const mui_t mui, const confirm_t confirm, const sdu_size_t size,
                          unsigned char* const sdu, const pdcp_transmission_mode_t mode,
                          const uint32_t* const source, const uint32_t* const destination) {
  (void)srb, (void)confirm, (void)mode, (void)source, (void)destination;
  nr_pdcp_manager_lock(NULL);
  nr_pdcp_entity_t* entity = ues[ctxt->rntiMaybeUEid % 64].drb[rb - 1];
  if (entity == NULL) {
    nr_pdcp_manager_unlock(NULL);
    return false;
  }
  uint32_t const sequence = entity->tx_next++;
  char pdu[HEADER_BYTES + 9000];
  pdu[0] = (char)(sequence >> 16);
  pdu[1] = (char)(sequence >> 8);
  pdu[2] = (char)sequence;
  memcpy(pdu + HEADER_BYTES, sdu, (size_t)size);
  void (*way)(void*, ue_id_t, int, char*, int, int) = entity->deliver_pdu;
  nr_pdcp_manager_unlock(NULL);
  way(NULL, ctxt->rntiMaybeUEid, (int)rb, pdu, size + HEADER_BYTES, (int)mui);
  return true;
}

void nr_pdcp_release_drb(ue_id_t ue, int drb) {
  nr_pdcp_manager_lock(NULL);
  free(ues[ue % 64].drb[drb - 1]);
  ues[ue % 64].drb[drb - 1] = NULL;
  nr_pdcp_manager_unlock(NULL);
}

void nr_pdcp_remove_UE(ue_id_t ue) {
  nr_pdcp_manager_lock(NULL);
  for (int drb = 0; drb < 32; ++drb) {
    free(ues[ue % 64].drb[drb]);
    ues[ue % 64].drb[drb] = NULL;
  }
  nr_pdcp_manager_unlock(NULL);
}
