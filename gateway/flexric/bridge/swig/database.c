/* No database: FlexRIC writes every report into SQLite, and aborts the process on an RLC byte counter of
 * 4 GiB. Reports go to their socket alone. The location of the database is all that FlexRIC reads from
 * its configuration when the address of the RIC is given, so it needs no configuration. */
#include <string.h>

#include "session.h"

FX_REPLACES char *get_conf_db_dir(fr_args_t const *arguments)
{
    (void)arguments;
    return strdup("");
}

FX_REPLACES char *get_conf_db_name(fr_args_t const *arguments)
{
    (void)arguments;
    return strdup("");
}

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
