/* One bearer of a simulated gNB, first without traffic control, then under FQ-CoDel.
 *
 * A greedy flow has 400 packets of 1400 bytes in flight; a sparse flow sends 60 bytes each
 * 20 ms. The MAC pulls 2500 bytes per slot of 500 µs from an RLC queue, except in two uplink
 * slots of ten (TDD 7/2/1). What is printed: how long the sparse flow's packets took, and that
 * every packet was handed on exactly once.
 *
 *   bearer                    run it
 *   bearer HEADER MESSAGE …   also execute RIC controls, half a second apart, both parts of each in
 *                             hex, and print the outcomes
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tc_rf.h"

enum { GREEDY = 0, SPARSE = 1, FLOWS = 2 };

static const uint32_t GREEDY_WINDOW = 400;
static const uint64_t SPARSE_PERIOD_US = 20000;
static const uint32_t SLOT_US = 500;
static const uint32_t BYTES_PER_SLOT = 2500;
static const tc_rf_bearer_t BEARER = {.rnti = 0x4601, .drb = 1};

/* A packet of the gNB, and its place in the RLC queue. */
typedef struct sdu {
    struct sdu *next;
    uint64_t arrived_us;
    uint32_t left_bytes;
    int flow;
    uint16_t length;
    uint8_t ip[1500];
} sdu;

typedef struct gnb {
    tc_rf_t *tc;
    sdu *head, *tail;
    uint32_t rlc_bytes, rlc_packets;
    uint64_t now_us;
    uint32_t in_flight[FLOWS];
    uint64_t sent, delivered, dropped, marked, events;
    uint64_t slowest_us;
    bool recall_unsent;
    tc_rf_result_t reentered;
} gnb;

static void must(gnb *g, tc_rf_result_t result, const char *what)
{
    if (result != TC_RF_RESULT_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, tc_rf_result_text(result), tc_rf_last_error(g->tc));
        exit(1);
    }
}

/* PDCP and RLC: what comes down waits for the MAC. */
static void forward(void *context, tc_rf_bearer_t bearer, void *data)
{
    gnb *g = context;
    sdu *packet = data;
    packet->next = NULL;
    *(g->head == NULL ? &g->head : &g->tail->next) = packet;
    g->tail = packet;
    g->rlc_bytes += packet->left_bytes;
    g->rlc_packets++;
    /* A call from a callback is refused. */
    g->reentered = tc_rf_egress(g->tc, bearer, g->now_us);
}

static void dropped(void *context, tc_rf_bearer_t bearer, void *data, tc_rf_drop_t reason,
                    uint64_t now_us)
{
    (void)bearer, (void)reason, (void)now_us;
    gnb *g = context;
    sdu *packet = data;
    g->dropped++;
    g->in_flight[packet->flow]--;
    free(packet);
}

static void marked(void *context, tc_rf_bearer_t bearer, void *data)
{
    (void)bearer, (void)data;
    ((gnb *)context)->marked++;
}

static void event(void *context, tc_rf_bearer_t bearer, tc_rf_event_t what)
{
    (void)bearer;
    gnb *g = context;
    g->events++;
    if (what == TC_RF_EVENT_RECALL_UNSENT)
        g->recall_unsent = true;
    else if (what == TC_RF_EVENT_PACED_BY_FORECAST)
        printf("paced by a forecast at %.1f ms\n", (double)g->now_us / 1000);
    else if (what == TC_RF_EVENT_PACED_BY_OWN_MEASURE)
        printf("paced by its own measure at %.1f ms\n", (double)g->now_us / 1000);
}

static uint16_t checksum(const uint8_t *bytes)
{
    uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2)
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

/* IPv4 and UDP, ECT(0), one port per flow. */
static void send(gnb *g, int flow, uint16_t length)
{
    sdu *packet = calloc(1, sizeof *packet);
    if (packet == NULL)
        abort();
    packet->arrived_us = g->now_us;
    packet->left_bytes = length;
    packet->length = length;
    packet->flow = flow;
    const uint8_t header[20] = {0x45, 0x02, (uint8_t)(length >> 8), (uint8_t)length, 0, 0, 0, 0,
                                64,   17,   0, 0, 198, 51, 100, 1, 10, 45, 70, 1};
    memcpy(packet->ip, header, sizeof header);
    const uint16_t sum = checksum(packet->ip);
    packet->ip[10] = (uint8_t)(sum >> 8);
    packet->ip[11] = (uint8_t)sum;
    packet->ip[20] = 0x14;
    packet->ip[21] = (uint8_t)(0x51 + flow);
    g->in_flight[flow]++;
    g->sent++;
    const tc_rf_packet_t view = {
        .sdu = packet, .ip = packet->ip, .length_bytes = length, .qfi = TC_RF_NO_QFI};
    must(g, tc_rf_ingress(g->tc, BEARER, &view, g->now_us), "ingress");
}

/* The MAC pulls a slot's worth; packets that are through have arrived. */
static void slot(gnb *g, bool downlink)
{
    for (uint32_t left = downlink ? BYTES_PER_SLOT : 0; left > 0 && g->head != NULL;) {
        sdu *packet = g->head;
        const uint32_t part = packet->left_bytes < left ? packet->left_bytes : left;
        left -= part;
        packet->left_bytes -= part;
        g->rlc_bytes -= part;
        if (packet->left_bytes > 0)
            break;
        g->head = packet->next;
        g->rlc_packets--;
        g->delivered++;
        g->in_flight[packet->flow]--;
        if (checksum(packet->ip) != 0) {
            fprintf(stderr, "a header left with a wrong checksum\n");
            exit(1);
        }
        const uint64_t took_us = g->now_us - packet->arrived_us;
        if (packet->flow == SPARSE && took_us > g->slowest_us)
            g->slowest_us = took_us;
        free(packet);
    }
    const tc_rf_rlc_status_t status = {.at_us = g->now_us,
                                     .occupancy_bytes = g->rlc_bytes,
                                     .occupancy_packets = g->rlc_packets,
                                     .capacity_bytes_per_tti = BYTES_PER_SLOT,
                                     .tti_us = SLOT_US,
                                     .dl_opportunity = downlink};
    must(g, tc_rf_rlc_status(g->tc, BEARER, &status, g->now_us), "rlc_status");
}

/* A pacer took over: what the RLC has not begun to send goes back up. */
static void give_back(gnb *g)
{
    g->recall_unsent = false;
    sdu *first = g->head;
    if (first != NULL && first->left_bytes < first->length)
        first = first->next;
    size_t count = 0;
    for (sdu *packet = first; packet != NULL; packet = packet->next)
        count++;
    tc_rf_returned_t *returned = calloc(count + 1, sizeof *returned);
    if (returned == NULL)
        abort();
    size_t i = 0;
    for (sdu *packet = first; packet != NULL; packet = packet->next, i++) {
        returned[i].packet = (tc_rf_packet_t){.sdu = packet,
                                            .ip = packet->ip,
                                            .length_bytes = packet->length,
                                            .qfi = TC_RF_NO_QFI};
        returned[i].arrived_us = packet->arrived_us;
        g->rlc_bytes -= packet->length;
        g->rlc_packets--;
    }
    if (first == g->head) {
        g->head = g->tail = NULL;
    } else {
        g->head->next = NULL;
        g->tail = g->head;
    }
    must(g, tc_rf_recall_unsent(g->tc, BEARER, returned, count, g->now_us), "recall_unsent");
    printf("taken back from the RLC: %zu packets\n", count);
    free(returned);
}

static void run(gnb *g, const char *name, uint64_t for_us)
{
    g->slowest_us = 0;
    const uint64_t end_us = g->now_us + for_us;
    while (g->now_us < end_us) {
        if (g->now_us % SPARSE_PERIOD_US == 0)
            send(g, SPARSE, 60);
        while (g->in_flight[GREEDY] < GREEDY_WINDOW)
            send(g, GREEDY, 1400);
        if (g->recall_unsent)
            give_back(g);
        must(g, tc_rf_egress(g->tc, BEARER, g->now_us), "egress");
        const uint64_t slot_end_us = g->now_us + SLOT_US;
        uint64_t deadline_us;
        must(g, tc_rf_next_deadline(g->tc, BEARER, g->now_us, &deadline_us), "next_deadline");
        while (deadline_us < slot_end_us) {
            g->now_us = deadline_us > g->now_us ? deadline_us : g->now_us + 1;
            must(g, tc_rf_egress(g->tc, BEARER, g->now_us), "egress");
            must(g, tc_rf_next_deadline(g->tc, BEARER, g->now_us, &deadline_us), "next_deadline");
        }
        g->now_us = slot_end_us;
        slot(g, g->now_us / SLOT_US % 10 < 8);
    }
    printf("%s: slowest sparse packet %.1f ms\n", name, (double)g->slowest_us / 1000);
}

static size_t unhex(const char *text, uint8_t *bytes, size_t room)
{
    size_t count = 0;
    unsigned value;
    for (; count < room && sscanf(text + 2 * count, "%2x", &value) == 1; count++)
        bytes[count] = (uint8_t)value;
    return count;
}

static void control(gnb *g, const char *header_hex, const char *message_hex)
{
    uint8_t header[64], message[4096];
    const tc_rf_bytes_t header_bytes = {header, unhex(header_hex, header, sizeof header)};
    const tc_rf_bytes_t message_bytes = {message, unhex(message_hex, message, sizeof message)};
    tc_rf_bytes_t outcome;
    must(g, tc_rf_control(g->tc, header_bytes, message_bytes, g->now_us, &outcome), "control");
    printf("outcome: ");
    for (size_t i = 0; i < outcome.length; i++)
        printf("%02x", outcome.data[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    gnb g = {0};
    const tc_rf_callbacks_t callbacks = {
        .context = &g, .forward = forward, .dropped = dropped, .marked = marked, .event = event};
    must(&g, tc_rf_create(&callbacks, 1, &g.tc), "create");
    must(&g, tc_rf_add_bearer(g.tc, BEARER, NULL, 0), "add_bearer");
    printf("tc_rf %s\n", tc_rf_version());

    run(&g, "transparent", 2000000);
    must(&g, tc_rf_apply_template(g.tc, BEARER, "fq_codel", g.now_us), "apply_template");
    run(&g, "fq_codel, while it settles", 500000);
    run(&g, "fq_codel", 2000000);
    for (int i = 1; i + 1 < argc; i += 2) {
        control(&g, argv[i], argv[i + 1]);
        run(&g, "after the control", 500000);
    }

    tc_rf_bytes_t report;
    must(&g, tc_rf_status_report(g.tc, BEARER, g.now_us, &report), "status_report");
    printf("status report: ");
    for (size_t i = 0; i < report.length; i++)
        printf("%02x", report.data[i]);
    printf("\n");

    const tc_rf_result_t unknown = tc_rf_apply_template(g.tc, BEARER, "no_such", g.now_us);
    printf("an unknown template: %s: %s\n", tc_rf_result_text(unknown), tc_rf_last_error(g.tc));
    printf("a call from a callback: %s\n", tc_rf_result_text(g.reentered));

    tc_rf_destroy(g.tc);
    uint64_t in_rlc = 0;
    while (g.head != NULL) {
        sdu *packet = g.head;
        g.head = packet->next;
        free(packet);
        in_rlc++;
    }
    printf("sent %" PRIu64 " = delivered %" PRIu64 " + dropped %" PRIu64 " + left in the RLC %" PRIu64
           "; marked %" PRIu64 "\n",
           g.sent, g.delivered, g.dropped, in_rlc, g.marked);
    return g.sent == g.delivered + g.dropped + in_rlc ? 0 : 1;
}
