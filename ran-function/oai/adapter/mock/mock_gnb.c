/* A gNB with its threads: packets, slots of each cell, control plane. Prints what arrived at the UEs.

   mock_gnb UES SECONDS MBIT_PER_S [uplink|unconfigured|full|halts|cu FILE]: offers so much to each UE; blocks carry 2000 B per
   slot of 0.5 ms and UE. UE 1 stays; the others are re-established, suspended, released and attached
   again. With `uplink` UE after UE receives a PDU, whose delivery ends when UE 1 has got SDUs meanwhile, and
   the control plane changes keys of UE 1. With `unconfigured` the first slots are of cells without
   configuration. With `full` an RLC buffer holds 500 kB. With `halts` the radio stands still for 200 ms
   after each 200 ms. With `cu` it has no MAC, and packets go to F1-U as PDCP hands them down: MBIT_PER_S is that of
   bursts of 200 ms with as long a pause, and FILE has the header and the message of a control of E2SM-TC v1,
   each after its length in two bytes, the higher one first. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/ran_context.h"
#include "mock_mac.h"
#include "openair2/F1AP/f1ap_ids.h"
#include "openair2/LAYER2/nr_pdcp/nr_pdcp_oai_api.h"
#include "openair2/LAYER2/nr_rlc/nr_rlc_oai_api.h"
#include "sojourn_gnb.h"

/* The adapter's; OAI has no such function. */
sojourn_gnb_t* adapter_gnb(void);

#define PACKET_BYTES 1250
#define SMALL_BYTES 172
#define HEADER_BYTES 3
#define DRB 1
#define SDUS_OF_A_DELIVERY 8
#define UNCONFIGURED_SLOTS 40
#define PATIENCE_US 10000000
#define FULL_BYTES 500000
#define HALT_US 200000
#define BURST_US 200000

static atomic_bool done;
/* Deliveries end while packets still come. */
static atomic_bool received;
static bool unconfigured;
static bool halts;
static bool is_cu;
static unsigned long deliveries;
static unsigned long stalls;
static unsigned ues;
static unsigned long mbit_per_s;
static atomic_ushort rnti_of[64];

/* SDUs of UE 1. */
static atomic_ulong sent;
static atomic_ulong arrived;
static unsigned long gaps;
static unsigned long worst_small_us;
static uint32_t expected_sequence;
/* Milliseconds in which an SDU of UE 1 arrived while none was brought. */
static unsigned long pause_ms;
static atomic_bool pausing;
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
  if (rnti != atomic_load(&rnti_of[1])) {
    return;
  }
  uint32_t const sequence = (uint32_t)pdu[0] << 16 | (uint32_t)pdu[1] << 8 | pdu[2];
  gaps += sequence != expected_sequence;
  expected_sequence = sequence + 1;
  atomic_fetch_add(&arrived, 1);
  static uint64_t last_ms;
  uint64_t const ms = now_us() / 1000;
  pause_ms += atomic_load(&pausing) && ms != last_ms;
  last_ms = ms;
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

/* Packets of UE 1, or of the others: those wait for PDCP while their DRB is not there. */
static void* bring_packets(void* argument) {
  bool const others = argument != NULL;
  uint64_t const start_us = now_us();
  unsigned long packets = 0;
  unsigned long small = 0;
  while (!atomic_load(&done)) {
    uint64_t const elapsed_us = now_us() - start_us;
    bool const pauses = is_cu && elapsed_us / BURST_US % 2 == 1;
    atomic_store(&pausing, pauses);
    if (pauses) {
      sleep_us(200);
      continue;
    }
    while (packets < elapsed_us * mbit_per_s / (8 * PACKET_BYTES)) {
      for (ue_id_t ue = others ? 2 : 1; ue <= (others ? ues : 1); ++ue) {
        send_packet(ue, 5001, PACKET_BYTES);
      }
      ++packets;
    }
    if (!others && small < elapsed_us / 20000) {
      send_packet(1, 7000, SMALL_BYTES);
      ++small;
    }
    sleep_us(200);
  }
  return NULL;
}

/* Slots of a cell: 20 of a frame in the first, 10 in the second. */
static void* schedule(void* argument) {
  int const cell = (int)(intptr_t)argument;
  int const slots_of_frame = cell == 0 ? 20 : 10;
  uint64_t const slot_us = 10000 / (uint64_t)slots_of_frame;
  uint64_t start_us = now_us();
  unsigned long goes = HALT_US / slot_us;
  for (unsigned long slots = 0; !atomic_load(&done);) {
    if (halts && slots == goes) {
      sleep_us(HALT_US);
      start_us += HALT_US;
      goes += HALT_US / slot_us;
    }
    if (slots < (now_us() - start_us) / slot_us) {
      if (unconfigured && slots == UNCONFIGURED_SLOTS) {
        mock_mac_set_slots(cell, (int8_t)slots_of_frame);
      }
      mock_mac_schedule(cell, (frame_t)(slots / (unsigned long)slots_of_frame % 1024),
                        (slot_t)(slots % (unsigned long)slots_of_frame));
      ++slots;
    } else {
      sleep_us(100);
    }
  }
  return NULL;
}

/* A device that takes what is written to it when UE 1 has got SDUs. */
static void device(void) {
  unsigned long const until = atomic_load(&arrived) + SDUS_OF_A_DELIVERY;
  uint64_t const began_us = now_us();
  while (atomic_load(&arrived) < until && now_us() - began_us < PATIENCE_US) {
    sleep_us(100);
  }
  stalls += atomic_load(&arrived) < until;
  ++deliveries;
}

/* Begins when slots have begun: before, PDUs take OAI's path, by PDCP's lock. */
static void* receive(void* argument) {
  (void)argument;
  while (atomic_load(&arrived) == 0) {
    sleep_us(100);
  }
  for (ue_id_t ue = 1; !atomic_load(&received); ue = ue % ues + 1) {
    mock_pdcp_receive(ue, DRB);
    sleep_us(2000);
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
  atomic_store(&rnti_of[ue], rnti);
  mock_mac_add((int)(ue - 1) % MOCK_CELLS, rnti);
}

/* 38.331 §5.3.7: the UE comes back with another RNTI. */
static void reestablish(ue_id_t ue, uint16_t rnti) {
  nr_pdcp_entity_security_keys_and_algos_t const security = {0};
  uint16_t const before = atomic_load(&rnti_of[ue]);
  mock_mac_remove(before);
  nr_pdcp_suspend_drb(ue, DRB);
  nr_rlc_remove_ue(rnti);
  nr_rlc_update_id(before, rnti);
  f1_ue_data_t const data = {.secondary_ue = rnti};
  cu_update_f1_ue_data((uint32_t)ue, &data);
  nr_pdcp_reestablishment(ue, DRB, false, &security);
  atomic_store(&rnti_of[ue], rnti);
  mock_mac_add((int)(ue - 1) % MOCK_CELLS, rnti);
}

static void release(ue_id_t ue, bool whole) {
  uint16_t const rnti = atomic_load(&rnti_of[ue]);
  mock_mac_remove(rnti);
  if (whole) {
    nr_pdcp_remove_UE(ue);
  } else {
    nr_pdcp_release_drb(ue, DRB);
    nr_rlc_release_entity(rnti, 4);
  }
  nr_rlc_remove_ue(rnti);
}

static size_t read_part(FILE* file, uint8_t* part, size_t room) {
  uint8_t length[2];
  if (fread(length, 1, 2, file) != 2) {
    return 0;
  }
  size_t const bytes = (size_t)length[0] << 8 | length[1];
  return bytes <= room && fread(part, 1, bytes, file) == bytes ? bytes : 0;
}

/* False if the host does not answer. */
static bool control(const char* name) {
  FILE* file = fopen(name, "rb");
  if (file == NULL) {
    return false;
  }
  uint8_t header[64];
  uint8_t message[4096];
  uint8_t outcome[1024];
  size_t const header_bytes = read_part(file, header, sizeof(header));
  size_t const message_bytes = read_part(file, message, sizeof(message));
  fclose(file);
  return sojourn_gnb_control_v1(adapter_gnb(), header, header_bytes, message, message_bytes,
                                now_us(), outcome, sizeof(outcome)) > 0;
}

int main(int argc, char** argv) {
  bool const uplink = argc == 5 && strcmp(argv[4], "uplink") == 0;
  bool const full = argc == 5 && strcmp(argv[4], "full") == 0;
  unconfigured = argc == 5 && strcmp(argv[4], "unconfigured") == 0;
  halts = argc == 5 && strcmp(argv[4], "halts") == 0;
  is_cu = argc == 6 && strcmp(argv[4], "cu") == 0;
  if (argc != 4 && !uplink && !unconfigured && !full && !halts && !is_cu) {
    fprintf(stderr,
            "usage: mock_gnb UES SECONDS MBIT_PER_S [uplink|unconfigured|full|halts|cu FILE]\n");
    return 2;
  }
  for (int cell = 0; unconfigured && cell < MOCK_CELLS; ++cell) {
    mock_mac_set_slots(cell, 0);
  }
  if (full) {
    mock_rlc_limit_bytes = FULL_BYTES;
  }
  mock_rlc_is_f1u = is_cu;
  ues = (unsigned)strtoul(argv[1], NULL, 10);
  unsigned long const seconds = strtoul(argv[2], NULL, 10);
  mbit_per_s = strtoul(argv[3], NULL, 10);
  mock_air = air;
  mock_device = device;
  started_us = now_us();
  uint16_t rnti = 0x1000;
  for (ue_id_t ue = 1; ue <= ues; ++ue) {
    attach(ue, ++rnti);
  }
  if (is_cu && !control(argv[5])) {
    fprintf(stderr, "%s: no control\n", argv[5]);
    return 1;
  }
  pthread_t packets[2];
  pthread_t slots[MOCK_CELLS];
  pthread_create(&packets[0], NULL, bring_packets, NULL);
  pthread_create(&packets[1], NULL, bring_packets, packets);
  int const cells = is_cu ? 0 : MOCK_CELLS;
  for (int cell = 0; cell < cells; ++cell) {
    pthread_create(&slots[cell], NULL, schedule, (void*)(intptr_t)cell);
  }
  pthread_t delivery;
  if (uplink) {
    pthread_create(&delivery, NULL, receive, NULL);
  }
  nr_pdcp_entity_security_keys_and_algos_t const security = {0};
  nr_pdcp_statistics_t statistics = {0};
  for (unsigned long step = 0; now_us() - started_us < seconds * 1000000; ++step) {
    sleep_us(20000);
    if (uplink) {
      nr_pdcp_reestablishment(1, DRB, false, &security);
    }
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
    atomic_store(&received, true);
    pthread_join(delivery, NULL);
    printf("deliveries %lu stalls %lu disturbed %lu\n", deliveries, stalls, mock_disturbed());
  }
  atomic_store(&done, true);
  pthread_join(packets[0], NULL);
  pthread_join(packets[1], NULL);
  for (int cell = 0; cell < cells; ++cell) {
    pthread_join(slots[cell], NULL);
  }
  printf("pause_ms %lu\n", pause_ms);
  nr_pdcp_get_statistics(1, 0, DRB, &statistics);
  printf("numbered %u received %u\n", statistics.txpdu_pkts, statistics.rxpdu_pkts);
  printf("sent %lu arrived %lu gaps %lu worst_small_us %lu rlc_peak_bytes %zu\n",
         atomic_load(&sent), atomic_load(&arrived), gaps, worst_small_us, mock_rlc_peak());
  return 0;
}
