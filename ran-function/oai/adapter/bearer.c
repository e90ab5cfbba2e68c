/* A transmitting PDCP entity of its own for each DRB, beside OAI's, which receives (38.323 §4.2.2: one for
   each direction). OAI has one lock for the entities of all UEs, which it holds while it writes an
   uplink SDU to a device, and a thread that schedules must not wait for that. What a transmitter has
   (TX_NEXT, contexts of ciphering and integrity, statistics) is reached through here alone, with the lock
   of that bearer, which is held for no system call. Control of OAI's entity is done to both. */
#include "bearer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef nr_pdcp_entity_security_keys_and_algos_t security_t;
MEMBER(nr_pdcp_entity_t, process_sdu, int (*)(nr_pdcp_entity_t*, char*, int, int, char*, int));
MEMBER(nr_pdcp_entity_t, delete_entity, void (*)(nr_pdcp_entity_t*));
MEMBER(nr_pdcp_entity_t, suspend_entity, void (*)(nr_pdcp_entity_t*));
MEMBER(nr_pdcp_entity_t, reestablish_entity,
       void (*)(nr_pdcp_entity_t*, const nr_pdcp_entity_security_keys_and_algos_t*));
MEMBER(nr_pdcp_entity_t, set_security,
       void (*)(nr_pdcp_entity_t*, const nr_pdcp_entity_security_keys_and_algos_t*));
MEMBER(nr_pdcp_entity_t, get_stats, void (*)(nr_pdcp_entity_t*, nr_pdcp_statistics_t*));
MEMBER(nr_pdcp_entity_t, get_pdcp_count_ul, nr_pdcp_count_t (*)(nr_pdcp_entity_t*));
MEMBER(nr_pdcp_entity_t, set_pdcp_count_ul, void (*)(nr_pdcp_entity_t*, nr_pdcp_count_t, int));
MEMBER(nr_pdcp_entity_t, deliver_sdu_data, void*);
MEMBER(nr_pdcp_entity_t, rb_id, int);
MEMBER(nr_pdcp_entity_t, has_sdap_tx, bool);
MEMBER(nr_pdcp_ue_t, ue_id, ue_id_t);

#define BUCKETS 256

/* A DRB. Its memory is used again for another one and never freed, so that a thread that has found it
   may take its lock and then see whose it is. */
typedef struct bearer {
  struct bearer* next;
  pthread_mutex_t lock;
  _Atomic ue_id_t ue;
  /* 0 while it is nobody's. */
  atomic_int drb;
  nr_pdcp_entity_t* transmitter;
} bearer_t;

static bearer_t* _Atomic buckets[BUCKETS];
/* Held while a DRB is added. */
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static bearer_t* _Atomic* bucket(ue_id_t ue, int drb) {
  return &buckets[(ue * 31 + (ue_id_t)drb) % BUCKETS];
}

static bearer_t* find(bearer_t* _Atomic* in, ue_id_t ue, int drb) {
  bearer_t* bearer = atomic_load(in);
  while (bearer != NULL && (atomic_load(&bearer->ue) != ue || atomic_load(&bearer->drb) != drb)) {
    bearer = bearer->next;
  }
  return bearer;
}

/* The bearer with its lock, null if there is none. */
static bearer_t* take(ue_id_t ue, int drb) {
  bearer_t* bearer = find(bucket(ue, drb), ue, drb);
  if (bearer == NULL) {
    return NULL;
  }
  pthread_mutex_lock(&bearer->lock);
  if (bearer->transmitter != NULL && atomic_load(&bearer->ue) == ue &&
      atomic_load(&bearer->drb) == drb) {
    return bearer;
  }
  pthread_mutex_unlock(&bearer->lock);
  return NULL;
}

static bearer_t* take_of(const nr_pdcp_entity_t* entity) {
  const nr_pdcp_ue_t* ue = entity->deliver_sdu_data;
  return take(ue->ue_id, entity->rb_id);
}

static void release(bearer_t* bearer) {
  pthread_mutex_unlock(&bearer->lock);
}

int adapter_transmit(ue_id_t ue, int drb, const uint8_t* sdu, int size, uint8_t* pdu, int room) {
  bearer_t* bearer = take(ue, drb);
  if (bearer == NULL) {
    return -1;
  }
  nr_pdcp_entity_t* transmitter = bearer->transmitter;
  /* PDCP reads the SDU; its interface has no const. */
  int const bytes =
      transmitter->process_sdu(transmitter, (char*)sdu, size, 0, (char*)pdu, room);
  release(bearer);
  return bytes;
}

static _Thread_local int64_t processed = -1;

int64_t adapter_take_processed(void) {
  int64_t const bytes = processed;
  processed = -1;
  return bytes;
}

/* The methods of OAI's entity, which OAI calls with its lock held. */

static int process_sdu(nr_pdcp_entity_t* entity, char* sdu, int size, int sdu_id, char* pdu,
                       int room) {
  bearer_t* bearer = take_of(entity);
  if (bearer == NULL) {
    return -1;
  }
  nr_pdcp_entity_t* transmitter = bearer->transmitter;
  int const bytes = transmitter->process_sdu(transmitter, sdu, size, sdu_id, pdu, room);
  release(bearer);
  processed = bytes;
  return bytes;
}

static void set_security(nr_pdcp_entity_t* entity, const security_t* parameters) {
  bearer_t* bearer = take_of(entity);
  if (bearer == NULL) {
    return;
  }
  __typeof__(entity->set_security) const set = bearer->transmitter->set_security;
  set(bearer->transmitter, parameters);
  release(bearer);
  set(entity, parameters);
}

/* The transmitter first: the new keys and TX_NEXT take effect together. OAI's then sets the security of both
   by the method above once more, to the same. */
static void reestablish(nr_pdcp_entity_t* entity, const security_t* parameters) {
  bearer_t* bearer = take_of(entity);
  if (bearer == NULL) {
    return;
  }
  __typeof__(entity->reestablish_entity) const to_do = bearer->transmitter->reestablish_entity;
  to_do(bearer->transmitter, parameters);
  release(bearer);
  to_do(entity, parameters);
}

/* OAI's delivers what it has received, which is a system call: without the bearer's lock. */
static void suspend(nr_pdcp_entity_t* entity) {
  bearer_t* bearer = take_of(entity);
  if (bearer == NULL) {
    return;
  }
  __typeof__(entity->suspend_entity) const to_do = bearer->transmitter->suspend_entity;
  to_do(bearer->transmitter);
  release(bearer);
  to_do(entity);
}

static void get_stats(nr_pdcp_entity_t* entity, nr_pdcp_statistics_t* out) {
  bearer_t* bearer = take_of(entity);
  if (bearer == NULL) {
    return;
  }
  nr_pdcp_statistics_t sent;
  bearer->transmitter->get_stats(bearer->transmitter, &sent);
  bearer->transmitter->get_stats(entity, out);
  release(bearer);
  out->txpdu_pkts = sent.txpdu_pkts;
  out->txpdu_bytes = sent.txpdu_bytes;
  out->txpdu_sn = sent.txpdu_sn;
  out->rxsdu_pkts = sent.rxsdu_pkts;
  out->rxsdu_bytes = sent.rxsdu_bytes;
}

/* OAI calls the COUNT of what a gNB sends that of the uplink. */
static nr_pdcp_count_t get_count(nr_pdcp_entity_t* entity) {
  nr_pdcp_count_t count = {0};
  bearer_t* bearer = take_of(entity);
  if (bearer != NULL) {
    count = bearer->transmitter->get_pdcp_count_ul(bearer->transmitter);
    release(bearer);
  }
  return count;
}

static void set_count(nr_pdcp_entity_t* entity, nr_pdcp_count_t count, int sn_size) {
  bearer_t* bearer = take_of(entity);
  if (bearer != NULL) {
    bearer->transmitter->set_pdcp_count_ul(bearer->transmitter, count, sn_size);
    release(bearer);
  }
}

static void delete(nr_pdcp_entity_t* entity) {
  bearer_t* bearer = take_of(entity);
  if (bearer == NULL) {
    return;
  }
  nr_pdcp_entity_t* transmitter = bearer->transmitter;
  bearer->transmitter = NULL;
  atomic_store(&bearer->drb, 0);
  release(bearer);
  __typeof__(entity->delete_entity) const to_do = transmitter->delete_entity;
  to_do(transmitter);
  to_do(entity);
}

bool adapter_controls(nr_pdcp_entity_type_t type, int is_gnb) {
  return is_gnb && type != NR_PDCP_SRB && adapter_gnb() != NULL;
}

/* Memory for a DRB that nobody else knows; null if there is none. */
static bearer_t* make(bearer_t* _Atomic* in) {
  bearer_t* bearer = calloc(1, sizeof(*bearer));
  if (bearer != NULL) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    /* The thread that schedules has real-time priority, those of the control plane have not. */
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&bearer->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    bearer->next = atomic_load(in);
    atomic_store(in, bearer);
  }
  return bearer;
}

void adapter_take_entity(const nr_pdcp_ue_t* ue, nr_pdcp_entity_t* entity,
                         nr_pdcp_entity_t* transmitter) {
  int const drb = entity->rb_id;
  bearer_t* _Atomic* in = bucket(ue->ue_id, drb);
  pthread_mutex_lock(&adding);
  bearer_t* bearer = find(in, ue->ue_id, drb);
  for (bearer_t* other = atomic_load(in); bearer == NULL && other != NULL; other = other->next) {
    bearer = atomic_load(&other->drb) == 0 ? other : NULL;
  }
  bearer = bearer == NULL ? make(in) : bearer;
  nr_pdcp_entity_t* before = transmitter;
  if (bearer != NULL) {
    pthread_mutex_lock(&bearer->lock);
    /* OAI forgets entities of DRBs above 5 when it removes a UE. */
    before = bearer->transmitter;
    bearer->transmitter = transmitter;
    atomic_store(&bearer->ue, ue->ue_id);
    atomic_store(&bearer->drb, drb);
    release(bearer);
    entity->process_sdu = process_sdu;
    entity->set_security = set_security;
    entity->reestablish_entity = reestablish;
    entity->suspend_entity = suspend;
    entity->get_stats = get_stats;
    entity->get_pdcp_count_ul = get_count;
    entity->set_pdcp_count_ul = set_count;
    entity->delete_entity = delete;
  }
  pthread_mutex_unlock(&adding);
  if (before != NULL) {
    before->delete_entity(before);
  }
  /* Other threads may have packets for it at once. */
  if (bearer != NULL) {
    sojourn_gnb_bearer_up(adapter_gnb(), ue->ue_id, (uint8_t)drb, entity->has_sdap_tx,
                          adapter_now_us());
  }
}
