/* A gNB whose bearers are served by threads of their own.
 *
 * Each of four bearers has a thread that brings packets, as SDAP does, and one that reports the RLC
 * and calls at each slot, as the MAC does; one more thread changes the pipelines of all. What is
 * printed: that every packet was handed on exactly once.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tc_rf.h"

enum { BEARERS = 4, PACKETS = 20000, CHANGES = 200 };

typedef struct {
    tc_rf_t *tc;
    tc_rf_bearer_t bearer;
    /* All threads of a bearer share one clock, which advances with its packets. */
    atomic_uint_fast64_t now_us;
    atomic_uint_fast64_t forwarded, dropped;
    atomic_bool done;
} drb;

static drb drbs[BEARERS];
static atomic_uint_fast64_t failures;

static void expect(tc_rf_t *tc, tc_rf_result_t result, const char *what)
{
    if (result != TC_RF_RESULT_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, tc_rf_result_text(result), tc_rf_last_error(tc));
        failures++;
    }
}

static void forward(void *context, tc_rf_bearer_t bearer, void *sdu)
{
    (void)context;
    drbs[bearer.drb - 1].forwarded++;
    free(sdu);
}

static void dropped(void *context, tc_rf_bearer_t bearer, void *sdu, tc_rf_drop_t reason,
                    uint64_t now_us)
{
    (void)context, (void)reason, (void)now_us;
    drbs[bearer.drb - 1].dropped++;
    free(sdu);
}

static void *sdap(void *argument)
{
    drb *d = argument;
    static const uint8_t header[20] = {0x45, 0x02, 0, 100, 0, 0, 0, 0, 64, 17,
                                       0,    0,    198, 51, 100, 1, 10, 45, 70, 1};
    for (uint32_t n = 0; n < PACKETS; n++) {
        uint8_t *ip = calloc(1, 100);
        if (ip == NULL)
            abort();
        memcpy(ip, header, sizeof header);
        ip[21] = (uint8_t)(n % 7);
        const uint64_t now_us = atomic_fetch_add(&d->now_us, 100) + 100;
        const tc_rf_packet_t packet = {
            .sdu = ip, .ip = ip, .length_bytes = 100, .qfi = TC_RF_NO_QFI};
        expect(d->tc, tc_rf_ingress(d->tc, d->bearer, &packet, now_us), "ingress");
    }
    d->done = true;
    return NULL;
}

static void *mac(void *argument)
{
    drb *d = argument;
    while (!d->done) {
        const uint64_t now_us = d->now_us;
        const tc_rf_rlc_status_t status = {.at_us = now_us,
                                           .capacity_bytes_per_tti = 2000,
                                           .tti_us = 500,
                                           .dl_opportunity = true};
        expect(d->tc, tc_rf_rlc_status(d->tc, d->bearer, &status, now_us), "rlc_status");
        expect(d->tc, tc_rf_egress(d->tc, d->bearer, now_us), "egress");
    }
    return NULL;
}

static void *e2_agent(void *argument)
{
    static const char *const names[] = {"fq_codel", "transparent", "bdp_only"};
    tc_rf_t *tc = argument;
    for (uint32_t n = 0; n < CHANGES; n++) {
        drb *d = &drbs[n % BEARERS];
        expect(tc, tc_rf_apply_template(tc, d->bearer, names[n % 3], d->now_us), "apply_template");
        tc_rf_bytes_t report;
        expect(tc, tc_rf_status_report(tc, d->bearer, d->now_us, &report), "status_report");
        if (report.length == 0)
            failures++;
        /* This error is this thread's; no other one reads it. */
        const tc_rf_bearer_t unknown = {.rnti = 1, .drb = 1};
        if (tc_rf_egress(tc, unknown, 0) != TC_RF_RESULT_UNKNOWN_BEARER ||
            strcmp(tc_rf_last_error(tc), "no DRB 1 of RNTI 1 here") != 0)
            failures++;
    }
    return NULL;
}

int main(void)
{
    tc_rf_t *tc;
    const tc_rf_callbacks_t callbacks = {.forward = forward, .dropped = dropped};
    expect(NULL, tc_rf_create(&callbacks, 1, &tc), "create");
    pthread_t threads[2 * BEARERS + 1];
    for (uint8_t i = 0; i < BEARERS; i++) {
        drbs[i].tc = tc;
        drbs[i].bearer = (tc_rf_bearer_t){.rnti = 0x4601, .drb = (uint8_t)(i + 1)};
        expect(tc, tc_rf_add_bearer(tc, drbs[i].bearer, NULL, 0), "add_bearer");
    }
    for (uint8_t i = 0; i < BEARERS; i++) {
        if (pthread_create(&threads[2 * i], NULL, sdap, &drbs[i]) != 0 ||
            pthread_create(&threads[2 * i + 1], NULL, mac, &drbs[i]) != 0)
            abort();
    }
    if (pthread_create(&threads[2 * BEARERS], NULL, e2_agent, tc) != 0)
        abort();
    for (int i = 0; i < 2 * BEARERS + 1; i++)
        pthread_join(threads[i], NULL);
    expect(tc, tc_rf_destroy(tc), "destroy");
    uint64_t lost = 0;
    for (int i = 0; i < BEARERS; i++) {
        const uint64_t ends = drbs[i].forwarded + drbs[i].dropped;
        lost += ends > PACKETS ? ends - PACKETS : PACKETS - ends;
        printf("DRB %d: sent %d = forwarded %" PRIuFAST64 " + dropped %" PRIuFAST64 "\n", i + 1,
               PACKETS, drbs[i].forwarded, drbs[i].dropped);
    }
    return lost == 0 && failures == 0 ? 0 : 1;
}
