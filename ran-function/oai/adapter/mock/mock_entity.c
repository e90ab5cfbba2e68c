/* A PDCP entity: numbers and ciphers, receives and delivers. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "openair2/LAYER2/nr_pdcp/nr_pdcp_entity.h"

#define HEADER_BYTES 3

static atomic_ulong disturbed;

unsigned long mock_disturbed(void) {
  return atomic_load(&disturbed);
}

int nr_max_pdcp_pdu_size(sdu_size_t sdu_size) {
  return sdu_size + HEADER_BYTES + 4;
}

/* Ciphers and deciphers in one context. */
static void work_in(uint32_t* context, uint32_t count) {
  *(volatile uint32_t*)context = count;
  for (int i = 0; i < 200; ++i) {
    __asm__ volatile("");
  }
  if (*(volatile uint32_t*)context != count) {
    atomic_fetch_add(&disturbed, 1);
  }
}

static int process_sdu(nr_pdcp_entity_t* entity, char* buffer, int size, int sdu_id, char* pdu,
                       int room) {
  (void)sdu_id;
  if (entity->entity_suspended || size + HEADER_BYTES > room) {
    return -1;
  }
  uint32_t const sequence = entity->tx_next++;
  pdu[0] = (char)(sequence >> 16);
  pdu[1] = (char)(sequence >> 8);
  pdu[2] = (char)sequence;
  memcpy(pdu + HEADER_BYTES, buffer, (size_t)size);
  work_in(entity->security_context, sequence);
  ++entity->stats.rxsdu_pkts;
  entity->stats.rxsdu_bytes += (uint32_t)size;
  ++entity->stats.txpdu_pkts;
  entity->stats.txpdu_bytes += (uint32_t)(size + HEADER_BYTES);
  entity->stats.txpdu_sn = sequence;
  return size + HEADER_BYTES;
}

static void recv_pdu(nr_pdcp_entity_t* entity, char* buffer, int size) {
  if (entity->entity_suspended) {
    return;
  }
  work_in(entity->security_context, 0x80000000U | entity->rx_next++);
  ++entity->stats.rxpdu_pkts;
  entity->deliver_sdu(entity->deliver_sdu_data, entity, buffer, size, NULL);
  ++entity->stats.txsdu_pkts;
}

static void set_security(nr_pdcp_entity_t* entity,
                         const nr_pdcp_entity_security_keys_and_algos_t* parameters) {
  (void)parameters;
  free(entity->security_context);
  entity->security_context = calloc(1, sizeof(*entity->security_context));
}

static void reestablish(nr_pdcp_entity_t* entity,
                        const nr_pdcp_entity_security_keys_and_algos_t* parameters) {
  entity->set_security(entity, parameters);
  entity->entity_suspended = false;
}

static void suspend(nr_pdcp_entity_t* entity) {
  entity->tx_next = 0;
  entity->rx_next = 0;
  entity->entity_suspended = true;
}

static void release(nr_pdcp_entity_t* entity) {
  (void)entity;
}

static void delete(nr_pdcp_entity_t* entity) {
  free(entity->security_context);
  free(entity);
}

static void get_stats(nr_pdcp_entity_t* entity, nr_pdcp_statistics_t* out) {
  *out = entity->stats;
}

static nr_pdcp_count_t get_count(nr_pdcp_entity_t* entity) {
  return (nr_pdcp_count_t){.sn = entity->tx_next & 0x3ffff, .hfn = entity->tx_next >> 18};
}

static void set_count(nr_pdcp_entity_t* entity, nr_pdcp_count_t count, int sn_size) {
  entity->tx_next = count.hfn << sn_size | count.sn;
}

nr_pdcp_entity_t* new_nr_pdcp_entity(
    nr_pdcp_entity_type_t type, int is_gnb, int rb_id, int pdusession_id, bool has_sdap_rx,
    bool has_sdap_tx,
    void (*deliver_sdu)(void*, struct nr_pdcp_entity_s*, char*, int,
                        const nr_pdcp_integrity_data_t*),
    void* deliver_sdu_data,
#ifdef MOCK_DELIVER_PDU
    void (*deliver_pdu)(void*, ue_id_t, int, char*, int, int), void* deliver_pdu_data,
#endif
    int sn_size, int t_reordering, int discard_timer,
    const nr_pdcp_entity_security_keys_and_algos_t* security) {
  (void)is_gnb, (void)pdusession_id, (void)has_sdap_rx, (void)sn_size, (void)t_reordering;
  (void)discard_timer;
  nr_pdcp_entity_t* entity = calloc(1, sizeof(*entity));
  *entity = (nr_pdcp_entity_t){
      .type = type,
      .recv_pdu = recv_pdu,
      .process_sdu = process_sdu,
      .delete_entity = delete,
      .release_entity = release,
      .suspend_entity = suspend,
      .reestablish_entity = reestablish,
      .get_stats = get_stats,
      .set_security = set_security,
      .deliver_sdu = deliver_sdu,
      .deliver_sdu_data = deliver_sdu_data,
      .rb_id = rb_id,
      .has_sdap_tx = has_sdap_tx,
      .get_pdcp_count_ul = get_count,
      .set_pdcp_count_ul = set_count,
  };
#ifdef MOCK_DELIVER_PDU
  (void)deliver_pdu_data;
  entity->deliver_pdu = deliver_pdu;
#endif
  set_security(entity, security);
  return entity;
}
