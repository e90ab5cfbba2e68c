#include "signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum { KEPT = 2 };

static const int NUMBERS[KEPT] = {SIGINT, SIGTERM};
static struct sigaction actions[KEPT];
static bool kept;

void fx_signals_keep(void)
{
    for (size_t i = 0; i < KEPT; ++i)
        sigaction(NUMBERS[i], NULL, &actions[i]);
    kept = true;
}

void fx_signals_give_back(void)
{
    for (size_t i = 0; kept && i < KEPT; ++i)
        sigaction(NUMBERS[i], &actions[i], NULL);
}
