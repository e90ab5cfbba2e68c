/* The wait of FlexRIC's thread: per block of reports, not per message.
 *
 * FlexRIC's thread wakes up for each message. With several thousand reports per second a wake-up costs
 * the RIC more than the send, and the thread more than the report. So it reads everything that is
 * available, passes the reports on together, and sleeps until the next block is due.
 *
 * It does not sleep while an answer is expected; a sleep that has begun is shorter than any answer takes.
 */
#include "loop.h"

#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "exchange.h"
#include "outlet.h"
#include "session.h"

enum {
    /* Longest wait for a message: for so long the end of the session may go unnoticed. */
    WAIT_MS = 200,
    /* The same while an answer is awaited and reports wait for the next block. */
    WAIT_IN_HASTE_MS = 1,
};

static fx_spacing_t spacing;
static fx_outlet_t outlet = {.socket = -1, .ring = &fx_reports};

bool fx_loop_report_to(int socket, double blocks_per_s)
{
    fx_spacing_open(&spacing, blocks_per_s);
    return fx_outlet_open(&outlet, socket, &fx_reports);
}

void fx_loop_end(void)
{
    if (outlet.block != NULL) /* FlexRIC's own module may be the only user */
        fx_outlet_finish(&outlet);
    for (;;)
        pause();
}

static void rest_until(int64_t ns)
{
    const struct timespec at = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

FX_REPLACES int event_asio_xapp(asio_xapp_t const *io)
{
    struct epoll_event event;
    const int64_t now_ns = monotonic_ns();
    bool readable = epoll_wait(io->efd, &event, 1, 0) == 1;

    /* A flood of messages has no pause in which to pass reports on. */
    if (readable && now_ns < spacing.next_ns + spacing.between_ns)
        return event.data.fd;
    if (now_ns >= spacing.next_ns && fx_outlet_waits(&outlet)) {
        fx_outlet_hand_over(&outlet);
        fx_spacing_take(&spacing, now_ns);
    }
    if (!readable) {
        const bool in_haste = fx_exchange_expects();
        if (!in_haste && now_ns < spacing.next_ns)
            rest_until(spacing.next_ns);
        if (fx_exchange_disconnected())
            fx_loop_end();
        const int wait_ms = !fx_outlet_waits(&outlet) ? WAIT_MS : in_haste ? WAIT_IN_HASTE_MS : 0;
        readable = epoll_wait(io->efd, &event, 1, wait_ms) == 1;
    }
    return readable ? event.data.fd : -1;
}
