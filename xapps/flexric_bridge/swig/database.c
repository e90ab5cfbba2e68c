/* No database: FlexRIC writes every report into SQLite, and ends the process on an RLC byte counter
 * of 4 GiB. Reports go to whoever polls, and to nobody else. */
#include "session.h"

FX_REPLACES void init_db_xapp(db_xapp_t *db, char const *db_filename)
{
    (void)db;
    (void)db_filename;
}

FX_REPLACES void close_db_xapp(db_xapp_t *db)
{
    (void)db;
}

FX_REPLACES void write_db_xapp(db_xapp_t *db, global_e2_node_id_t const *id, sm_ag_if_rd_t const *rd)
{
    (void)db;
    (void)id;
    (void)rd;
}
