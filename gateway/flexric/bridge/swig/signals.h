/* Keeps the handlers of SIGINT and SIGTERM, which FlexRIC replaces at its start. */
#ifndef SOJOURN_FLEXRIC_SIGNALS_H
#define SOJOURN_FLEXRIC_SIGNALS_H

/* Stores the current handlers. */
void fx_signals_keep(void);

/* Restores the stored handlers, if any. */
void fx_signals_give_back(void);

#endif
