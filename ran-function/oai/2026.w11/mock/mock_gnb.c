/* A gNB with its threads: packets, slots, control plane. Prints what arrived at the UEs.

   mock_gnb UES SECONDS MBIT_PER_S [uplink|unconfigured]: offers so much to each UE; blocks carry 2000 B per slot of
   0.5 ms and UE. UE 1 stays; the others are re-established, released and attached again. With `uplink` a
   thread has PDCP's lock again and again, each time until the MAC has scheduled some slots: one that waits
   for the lock schedules none. With `unconfigured` the first slots are of a cell without configuration. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/ran_context.h"
#include "openair2/F1AP/f1ap_ids.h"
#include "openair2/LAYER2/NR_MAC_gNB/mac_proto.h"
#include "openair2/LAYER2/nr_pdcp/nr_pdcp_oai_api.h"
#include "openair2/LAYER2/nr_pdcp/nr_pdcp_ue_manager.h"
#include "openair2/LAYER2/nr_rlc/nr_rlc_oai_api.h"

#define PACKET_BYTES 1250
#define SMALL_BYTES 172
#define HEADER_BYTES 3
#define DRB 1
#define SLOTS_OF_A_DELIVERY 8
#define UNCONFIGURED_SLOTS 40
#define PATIENCE_US 1000000

static atomic_bool done;
static atomic_ulong slots_scheduled;
static unsigned long deliveries;
static unsigned long stalls;
static unsigned ues;
static unsigned long mbit_per_s;
static uint16_t rnti_of[64];

/* SDUs of UE 1. */
static atomic_ulong sent;
static unsigned long arrived;
static unsigned long gaps;
static unsigned long worst_small_us;
static uint32_t expected_sequence;
static uint64_t started_us;

static uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void sleep_us(long us) {
  struct timespec const time = {.tv_nsec = us * 1000};
  nanosleep(&time, NULL);
}

static void air(uint16_t rnti, const uint8_t* pdu, size_t size) {
  if (rnti != rnti_of[1]) {
    return;
  }
  uint32_t const sequence = (uint32_t)pdu[0] << 16 | (uint32_t)pdu[1] << 8 | pdu[2];
  gaps += sequence != expected_sequence;
  expected_sequence = sequence + 1;
  ++arrived;
  if (size == SMALL_BYTES + HEADER_BYTES) {
    uint64_t sent_us;
    memcpy(&sent_us, pdu + HEADER_BYTES + 28, sizeof(sent_us));
    unsigned long const late_us = (unsigned long)(now_us() - sent_us);
    /* The first second is for queues and pacer to settle. */
    if (sent_us > started_us + 1000000 && late_us > worst_small_us) {
      worst_small_us = late_us;
    }
  }
}

static void send_packet(ue_id_t ue, uint16_t port, int size) {
  unsigned char packet[PACKET_BYTES] = {0x45, 0, (unsigned char)(size >> 8), (unsigned char)size};
  packet[8] = 64;
  packet[9] = 17;
  packet[12] = packet[16] = 10;
  packet[20] = (unsigned char)(port >> 8);
  packet[21] = (unsigned char)port;
  uint64_t const time_us = now_us();
  memcpy(packet + 28, &time_us, sizeof(time_us));
  protocol_ctxt_t ctxt = {.enb_flag = 1, .rntiMaybeUEid = ue};
  bool const taken = nr_pdcp_data_req_drb(&ctxt, SRB_FLAG_NO, DRB, 0, 0, size, packet,
                                          PDCP_TRANSMISSION_MODE_DATA, NULL, NULL);
  if (ue == 1 && taken) {
    atomic_fetch_add(&sent, 1);
  }
}

static void* bring_packets(void* argument) {
  (void)argument;
  uint64_t const start_us = now_us();
  unsigned long packets = 0;
  unsigned long small = 0;
  while (!atomic_load(&done)) {
    uint64_t const elapsed_us = now_us() - start_us;
    while (packets < elapsed_us * mbit_per_s / (8 * PACKET_BYTES)) {
      for (ue_id_t ue = 1; ue <= ues; ++ue) {
        send_packet(ue, 5001, PACKET_BYTES);
      }
      ++packets;
    }
    if (small < elapsed_us / 20000) {
      send_packet(1, 7000, SMALL_BYTES);
      ++small;
    }
    sleep_us(200);
  }
  return NULL;
}

static void* schedule(void* argument) {
  (void)argument;
  uint64_t const start_us = now_us();
  NR_Sched_Rsp_t response = {0};
  for (unsigned long slots = 0; !atomic_load(&done);) {
    if (slots < (now_us() - start_us) / 500) {
      if (slots == UNCONFIGURED_SLOTS) {
        RC.nrmac[0]->frame_structure.numb_slots_frame = 20;
      }
      gNB_dlsch_ulsch_scheduler(0, (frame_t)(slots / 20 % 1024), (slot_t)(slots % 20), &response);
      ++slots;
      atomic_store(&slots_scheduled, slots);
    } else {
      sleep_us(100);
    }
  }
  return NULL;
}

/* Does what the delivery of uplink SDUs does, which writes to a device with PDCP's lock held. */
static void* deliver_uplink(void* argument) {
  (void)argument;
  while (!atomic_load(&done)) {
    nr_pdcp_manager_lock(NULL);
    unsigned long const until = atomic_load(&slots_scheduled) + SLOTS_OF_A_DELIVERY;
    uint64_t const began_us = now_us();
    while (atomic_load(&slots_scheduled) < until && now_us() - began_us < PATIENCE_US) {
      sleep_us(100);
    }
    stalls += atomic_load(&slots_scheduled) < until;
    nr_pdcp_manager_unlock(NULL);
    ++deliveries;
    sleep_us(5000);
  }
  return NULL;
}

static void attach(ue_id_t ue, uint16_t rnti) {
  f1_ue_data_t const none = {0};
  cu_add_f1_ue_data((uint32_t)ue, &none);
  mock_pdcp_add_drb(ue, DRB);
  NR_RLC_BearerConfig_t const config = {.logicalChannelIdentity = 4};
  nr_rlc_add_drb(rnti, DRB, &config);
  f1_ue_data_t const data = {.secondary_ue = rnti};
  cu_update_f1_ue_data((uint32_t)ue, &data);
  rnti_of[ue] = rnti;
  mock_mac_add(rnti);
}

/* 38.331 §5.3.7: the UE comes back with another RNTI. */
static void reestablish(ue_id_t ue, uint16_t rnti) {
  mock_mac_remove(rnti_of[ue]);
  nr_rlc_remove_ue(rnti);
  nr_rlc_update_id(rnti_of[ue], rnti);
  f1_ue_data_t const data = {.secondary_ue = rnti};
  cu_update_f1_ue_data((uint32_t)ue, &data);
  rnti_of[ue] = rnti;
  mock_mac_add(rnti);
}

static void release(ue_id_t ue, bool whole) {
  mock_mac_remove(rnti_of[ue]);
  if (whole) {
    nr_pdcp_remove_UE(ue);
  } else {
    nr_pdcp_release_drb(ue, DRB);
    nr_rlc_release_entity(rnti_of[ue], 4);
  }
  nr_rlc_remove_ue(rnti_of[ue]);
}

int main(int argc, char** argv) {
  bool const uplink = argc == 5 && strcmp(argv[4], "uplink") == 0;
  bool const unconfigured = argc == 5 && strcmp(argv[4], "unconfigured") == 0;
  if (argc != 4 && !uplink && !unconfigured) {
    fprintf(stderr, "usage: mock_gnb UES SECONDS MBIT_PER_S [uplink|unconfigured]\n");
    return 2;
  }
  if (unconfigured) {
    RC.nrmac[0]->frame_structure.numb_slots_frame = 0;
  }
  ues = (unsigned)strtoul(argv[1], NULL, 10);
  unsigned long const seconds = strtoul(argv[2], NULL, 10);
  mbit_per_s = strtoul(argv[3], NULL, 10);
  mock_air = air;
  started_us = now_us();
  uint16_t rnti = 0x1000;
  for (ue_id_t ue = 1; ue <= ues; ++ue) {
    attach(ue, ++rnti);
  }
  pthread_t packets;
  pthread_t slots;
  pthread_create(&packets, NULL, bring_packets, NULL);
  pthread_create(&slots, NULL, schedule, NULL);
  pthread_t delivery;
  if (uplink) {
    pthread_create(&delivery, NULL, deliver_uplink, NULL);
  }
  for (unsigned long step = 0; now_us() - started_us < seconds * 1000000; ++step) {
    sleep_us(20000);
    if (ues > 1) {
      ue_id_t const ue = 2 + step % (ues - 1);
      if (step % 3 == 0) {
        reestablish(ue, ++rnti);
      } else {
        release(ue, step % 3 == 1);
        attach(ue, ++rnti);
      }
    }
  }
  if (uplink) {
    atomic_store(&done, true);
    pthread_join(delivery, NULL);
    printf("deliveries %lu stalls %lu\n", deliveries, stalls);
  }
  atomic_store(&done, true);
  pthread_join(packets, NULL);
  pthread_join(slots, NULL);
  printf("sent %lu arrived %lu gaps %lu worst_small_us %lu rlc_peak_bytes %zu\n",
         atomic_load(&sent), arrived, gaps, worst_small_us, mock_rlc_peak());
  return 0;
}
