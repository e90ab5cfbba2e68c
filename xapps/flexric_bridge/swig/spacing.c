#include "spacing.h"

void fx_spacing_open(fx_spacing_t *spacing, double per_s)
{
    spacing->between_ns = (int64_t)(1e9 / per_s);
    spacing->next_ns = 0;
}

void fx_spacing_take(fx_spacing_t *spacing, int64_t now_ns)
{
    const int64_t earliest_ns = now_ns - (FX_AT_ONCE - 1) * spacing->between_ns;
    if (spacing->next_ns < earliest_ns)
        spacing->next_ns = earliest_ns;
    spacing->next_ns += spacing->between_ns;
}
