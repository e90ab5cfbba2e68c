/* Transmitting sides of PDCP entities, for the files of the adapter that know PDCP's types. */
#ifndef SOJOURN_OAI_BEARER_H
#define SOJOURN_OAI_BEARER_H

/* Before OAI's headers: netinet/sctp.h defines names that it declares. */
#include <netinet/in.h>

#include "openair2/LAYER2/nr_pdcp/nr_pdcp_entity.h"
#include "openair2/LAYER2/nr_pdcp/nr_pdcp_oai_api.h"
#include "openair2/LAYER2/nr_pdcp/nr_pdcp_ue_manager.h"

#include "adapter.h"

/* Whether an entity that OAI makes is that of a DRB whose packets the adapter controls. */
bool adapter_controls(nr_pdcp_entity_type_t type, int is_gnb);
/* Takes what OAI has made of a DRB of `ue`, not known to other threads yet, and a second entity made of
   the same arguments, which transmits from now on. */
void adapter_take_entity(const nr_pdcp_ue_t* ue, nr_pdcp_entity_t* entity,
                         nr_pdcp_entity_t* transmitter);

/* Numbers and ciphers an SDU; bytes of the PDU, negative if there is no entity or it is suspended. */
int adapter_transmit(ue_id_t ue, int drb, const uint8_t* sdu, int size, uint8_t* pdu, int room);
/* What the last SDU that OAI itself processed in this thread became; negative if nothing since the
   last call. */
int64_t adapter_take_processed(void);

#endif
