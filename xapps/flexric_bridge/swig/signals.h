/* SIGINT and SIGTERM stay whose they were: FlexRIC takes both as it begins. */
#ifndef SOJOURN_FLEXRIC_SIGNALS_H
#define SOJOURN_FLEXRIC_SIGNALS_H

/* Remembers who has them. */
void fx_signals_keep(void);

/* Gives them back; nothing where nothing was kept. */
void fx_signals_give_back(void);

#endif
