/* What a PDCP entity has in each of its shapes; the header that declares one says which. */
#ifndef MOCK_ENTITY_H
#define MOCK_ENTITY_H

#include "mock_types.h"

typedef enum { NR_PDCP_DRB_AM, NR_PDCP_DRB_UM, NR_PDCP_SRB } nr_pdcp_entity_type_t;
typedef struct {
  int integrity_algorithm;
  int ciphering_algorithm;
} nr_pdcp_entity_security_keys_and_algos_t;
typedef struct nr_pdcp_integrity_data nr_pdcp_integrity_data_t;
typedef struct {
  uint32_t sn;
  uint32_t hfn;
} nr_pdcp_count_t;
typedef struct {
  uint32_t txpdu_pkts;
  uint32_t txpdu_bytes;
  uint32_t txpdu_sn;
  uint32_t rxpdu_pkts;
  uint32_t txsdu_pkts;
  uint32_t rxsdu_pkts;
  uint32_t rxsdu_bytes;
} nr_pdcp_statistics_t;

typedef struct nr_pdcp_entity_s {
  nr_pdcp_entity_type_t type;
  void (*recv_pdu)(struct nr_pdcp_entity_s* entity, char* buffer, int size);
  int (*process_sdu)(struct nr_pdcp_entity_s* entity, char* buffer, int size, int sdu_id,
                     char* pdu_buffer, int pdu_max_size);
  void (*delete_entity)(struct nr_pdcp_entity_s* entity);
  void (*release_entity)(struct nr_pdcp_entity_s* entity);
  void (*suspend_entity)(struct nr_pdcp_entity_s* entity);
  void (*reestablish_entity)(struct nr_pdcp_entity_s* entity,
                             const nr_pdcp_entity_security_keys_and_algos_t* parameters);
  void (*get_stats)(struct nr_pdcp_entity_s* entity, nr_pdcp_statistics_t* out);
  void (*set_security)(struct nr_pdcp_entity_s* entity,
                       const nr_pdcp_entity_security_keys_and_algos_t* parameters);
  void (*deliver_sdu)(void* deliver_sdu_data, struct nr_pdcp_entity_s* entity, char* buf, int size,
                      const nr_pdcp_integrity_data_t* msg_integrity);
  void* deliver_sdu_data;
#ifdef MOCK_DELIVER_PDU
  void (*deliver_pdu)(void* deliver_pdu_data, ue_id_t ue_id, int rb_id, char* buf, int size,
                      int sdu_id);
#endif
  int rb_id;
  bool has_sdap_tx;
  uint32_t tx_next;
  uint32_t rx_next;
  bool entity_suspended;
  /* Has what it works on, as OAI's NEA1 has: for one thread at a time. */
  uint32_t* security_context;
  nr_pdcp_statistics_t stats;
  nr_pdcp_count_t (*get_pdcp_count_ul)(struct nr_pdcp_entity_s* entity);
  void (*set_pdcp_count_ul)(struct nr_pdcp_entity_s* entity, nr_pdcp_count_t count, int sn_size);
} nr_pdcp_entity_t;

int nr_max_pdcp_pdu_size(sdu_size_t sdu_size);

/* Uses of a security context that another thread disturbed. */
unsigned long mock_disturbed(void);

#endif
