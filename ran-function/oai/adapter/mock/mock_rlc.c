/* RLC: a queue of PDUs per UE under one lock, with segmentation. One DRB a UE. */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "openair2/LAYER2/nr_rlc/nr_rlc_oai_api.h"

#define UES 64
#define RLC_HEADER_BYTES 1
#define MAC_HEADER_BYTES 3

typedef struct pdu {
  struct pdu* next;
  size_t size;
  uint8_t* bytes;
} pdu_t;

typedef struct {
  int rnti;
  logical_chan_id_t lcid;
  pdu_t* head;
  pdu_t** tail;
  size_t bytes;
  size_t sent_of_head;
} channel_t;

mock_air_t* mock_air;
int mock_rlc_limit_bytes = INT_MAX;
bool mock_rlc_is_f1u;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static channel_t channels[UES];
static size_t peak;

static channel_t* find(int rnti) {
  for (int i = 0; i < UES; ++i) {
    if (channels[i].rnti == rnti) {
      return &channels[i];
    }
  }
  return NULL;
}

static void drop_head(channel_t* channel) {
  pdu_t* pdu = channel->head;
  channel->head = pdu->next;
  if (channel->head == NULL) {
    channel->tail = &channel->head;
  }
  channel->sent_of_head = 0;
  free(pdu->bytes);
  free(pdu);
}

void nr_rlc_add_drb(int ue_id, int drb_id, const NR_RLC_BearerConfig_t* config) {
  (void)drb_id;
  pthread_mutex_lock(&lock);
  channel_t* channel = find(0);
  *channel = (channel_t){.rnti = ue_id, .lcid = (logical_chan_id_t)config->logicalChannelIdentity};
  channel->tail = &channel->head;
  pthread_mutex_unlock(&lock);
}

static void clear(int rnti) {
  pthread_mutex_lock(&lock);
  channel_t* channel = find(rnti);
  if (channel != NULL) {
    while (channel->head != NULL) {
      drop_head(channel);
    }
    channel->rnti = 0;
  }
  pthread_mutex_unlock(&lock);
}

void nr_rlc_release_entity(int ue_id, logical_chan_id_t lcid) {
  (void)lcid;
  clear(ue_id);
}

void nr_rlc_remove_ue(int ue_id) {
  clear(ue_id);
}

bool nr_rlc_update_id(int from_id, int to_id) {
  pthread_mutex_lock(&lock);
  channel_t* channel = find(from_id);
  if (channel != NULL) {
    channel->rnti = to_id;
  }
  pthread_mutex_unlock(&lock);
  return channel != NULL;
}

rlc_op_status_t nr_rlc_data_req(const protocol_ctxt_t* const ctxt, const srb_flag_t srb,
                                const rb_id_t rb, const mui_t mui, sdu_size_t size, uint8_t* sdu) {
  (void)srb, (void)rb, (void)mui;
  pthread_mutex_lock(&lock);
  channel_t* channel = find((int)ctxt->rntiMaybeUEid);
  if (channel == NULL || ctxt->rntiMaybeUEid == 0 ||
      (int)channel->bytes + size > mock_rlc_limit_bytes) {
    free(sdu);
  } else if (mock_rlc_is_f1u) {
    mock_air((uint16_t)ctxt->rntiMaybeUEid, sdu, (size_t)size);
    free(sdu);
  } else {
    pdu_t* pdu = malloc(sizeof(*pdu));
    *pdu = (pdu_t){.size = (size_t)size, .bytes = sdu};
    *channel->tail = pdu;
    channel->tail = &pdu->next;
    channel->bytes += (size_t)size;
    peak = channel->bytes > peak ? channel->bytes : peak;
  }
  pthread_mutex_unlock(&lock);
  return RLC_OP_STATUS_OK;
}

logical_chan_id_t nr_rlc_get_lcid_from_rb(int ue_id, bool is_srb, int rb_id) {
  (void)is_srb, (void)rb_id;
  pthread_mutex_lock(&lock);
  channel_t* channel = find(ue_id);
  logical_chan_id_t const lcid = channel == NULL ? 0 : channel->lcid;
  pthread_mutex_unlock(&lock);
  return lcid;
}

int nr_rlc_get_available_tx_space(const int ue_id, const logical_chan_id_t lcid) {
  (void)lcid;
  pthread_mutex_lock(&lock);
  channel_t* channel = find(ue_id);
  int const space = channel == NULL ? -1 : mock_rlc_limit_bytes - (int)channel->bytes;
  pthread_mutex_unlock(&lock);
  return space;
}

void nr_mac_rlc_status_ind(uint16_t ue_id, frame_t frame, int n_ch, const logical_chan_id_t* ch,
                           mac_rlc_status_resp_t* ret) {
  (void)frame;
  pthread_mutex_lock(&lock);
  channel_t* channel = find(ue_id);
  for (int i = 0; i < n_ch; ++i) {
    bool const known = channel != NULL && channel->lcid == ch[i];
    ret[i].bytes_in_buffer = known ? (uint32_t)channel->bytes : 0;
  }
  pthread_mutex_unlock(&lock);
}

int nr_mac_rlc_multi_data_req(const module_id_t module, const uint16_t ue_id, const bool gnb,
                              const logical_chan_id_t lcid, const tb_size_t tb_size, char* buffer,
                              tb_size_t* pdu_siz, int pdu_siz_len) {
  (void)module, (void)gnb, (void)buffer;
  size_t const headers = RLC_HEADER_BYTES + MAC_HEADER_BYTES;
  size_t room = (size_t)tb_size;
  int pdus = 0;
  pthread_mutex_lock(&lock);
  channel_t* channel = find(ue_id);
  while (channel != NULL && channel->lcid == lcid && channel->head != NULL && room > headers &&
         pdus < pdu_siz_len) {
    size_t const left = channel->head->size - channel->sent_of_head;
    size_t const now = left < room - headers ? left : room - headers;
    room -= now + headers;
    channel->bytes -= now;
    channel->sent_of_head += now;
    pdu_siz[pdus++] = (tb_size_t)(now + RLC_HEADER_BYTES);
    if (now == left) {
      mock_air(ue_id, channel->head->bytes, channel->head->size);
      drop_head(channel);
    }
  }
  pthread_mutex_unlock(&lock);
  return pdus;
}

size_t mock_rlc_peak(void) {
  pthread_mutex_lock(&lock);
  size_t const bytes = peak;
  pthread_mutex_unlock(&lock);
  return bytes;
}
