/* The wrapped symbols of PDCP: SDUs are held back before they get a sequence number, so that a
   drop or a change of order leaves no gap for the UE to wait for (t-Reordering, 38.323 §5.2.2.2).
   */
#include <stdlib.h>

#include "bearer.h"
#include "openair2/LAYER2/nr_rlc/nr_rlc_oai_api.h"

SHAPE(nr_pdcp_data_req_drb,
      bool(protocol_ctxt_t*, const srb_flag_t, const rb_id_t, const mui_t, const confirm_t,
           const sdu_size_t, unsigned char* const, const pdcp_transmission_mode_t,
           const uint32_t* const, const uint32_t* const));
SHAPE(nr_pdcp_release_drb, void(ue_id_t, int));
SHAPE(nr_pdcp_remove_UE, void(ue_id_t));
SHAPE(nr_max_pdcp_pdu_size, int(sdu_size_t));
SHAPE(nr_rlc_data_req, rlc_op_status_t(const protocol_ctxt_t* const, const srb_flag_t,
                                       const rb_id_t, const mui_t, sdu_size_t, uint8_t*));

WRAPPED(nr_pdcp_data_req_drb);
WRAPPED(nr_pdcp_release_drb);
WRAPPED(nr_pdcp_remove_UE);

bool adapter_pdcp_wrapped(void) {
  bool const data = IS_WRAPPED(nr_pdcp_data_req_drb);
  bool const released = IS_WRAPPED(nr_pdcp_release_drb);
  bool const removed = IS_WRAPPED(nr_pdcp_remove_UE);
  return data && released && removed;
}

/* What PDCP and RLC have cost this thread for SDUs that the host handed down. */
static _Thread_local uint64_t forwarded_ns;

/* To the RLC in this call: in OAI's queue between PDCP and RLC the MAC could neither count a PDU nor
   take it for the block that it is building. */
static int64_t forward_to_rlc(sojourn_gnb_bearer_t bearer, const uint8_t* sdu, int size) {
  int const room = nr_max_pdcp_pdu_size(size);
  if (!adapter_fills_block() && !adapter_rlc_has_room(bearer.rnti, bearer.drb, room)) {
    return -1;
  }
  uint8_t* pdu = malloc((size_t)room);
  if (pdu == NULL) {
    return -1;
  }
  int const bytes = adapter_transmit(bearer.ue, bearer.drb, sdu, size, pdu, room);
  if (bytes < 0) {
    free(pdu);
    return -1;
  }
  protocol_ctxt_t const ctxt = {.enb_flag = 1, .rntiMaybeUEid = bearer.rnti};
  /* Frees the PDU. */
  nr_rlc_data_req(&ctxt, SRB_FLAG_NO, bearer.drb, 0, bytes, pdu);
  return bytes;
}

/* As without the adapter: in a CU, and while the MAC does not know the UE. */
static int64_t forward_by_oai(sojourn_gnb_bearer_t bearer, const uint8_t* sdu, int size) {
  protocol_ctxt_t ctxt = {.enb_flag = 1, .rntiMaybeUEid = bearer.ue};
  adapter_take_processed();
  /* PDCP reads the SDU; its interface has no const. */
  REAL(nr_pdcp_data_req_drb)(&ctxt, SRB_FLAG_NO, bearer.drb, 0, SDU_CONFIRM_NO, size,
                             (unsigned char*)sdu, PDCP_TRANSMISSION_MODE_DATA, NULL, NULL);
  return adapter_take_processed();
}

int64_t adapter_forward(void* context, sojourn_gnb_bearer_t bearer, const uint8_t* sdu,
                        uint32_t length) {
  (void)context;
  uint64_t const began_ns = adapter_slot_clock_ns();
  bool const by_oai = bearer.rnti == SOJOURN_GNB_NO_RNTI || !adapter_has_mac();
  int64_t const in_rlc = by_oai ? forward_by_oai(bearer, sdu, (int)length)
                                : forward_to_rlc(bearer, sdu, (int)length);
  forwarded_ns += adapter_slot_clock_ns() - began_ns;
  return in_rlc;
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

void WRAP(nr_pdcp_release_drb)(ue_id_t ue, int drb) {
  sojourn_gnb_bearer_down(adapter_gnb(), ue, (uint8_t)drb, adapter_now_us());
  REAL(nr_pdcp_release_drb)(ue, drb);
}

void WRAP(nr_pdcp_remove_UE)(ue_id_t ue) {
  sojourn_gnb_ue_gone(adapter_gnb(), ue, adapter_now_us());
  REAL(nr_pdcp_remove_UE)(ue);
}
