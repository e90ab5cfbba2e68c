/* sdk.h with Python's types; see flexric.i. */
#ifndef SOJOURN_FLEXRIC_PYTHON_API_H
#define SOJOURN_FLEXRIC_PYTHON_API_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

void fx_add_failure(PyObject *module);

PyObject *open_ric(const char *ric_address, const char *configuration, const char *libraries,
                   int reports, double blocks_per_s, double rest_s, int away);

/* [(id, type, mcc, mnc, mnc_digits, nb_id, cu_du_id or None, [(id, oid, revision, definition)])] */
PyObject *nodes(void);

PyObject *subscribe(const char *node_id, int function_id, unsigned int period_ms,
                    PyObject *kpm_names, int sst, int sd, PyObject *trigger, PyObject *action);
PyObject *unsubscribe(unsigned int handle);

/* (which were acknowledged, outcome of the last, kind of the first failure or None, detail) */
PyObject *controls(const char *node_id, int function_id, PyObject *header, PyObject *messages);
PyObject *close_ric(void);

/* Sizes of the structures that this module and FlexRIC's library share, by name. */
PyObject *struct_bytes(void);

/* Encoding of S-NSSAI by nodes of the installed FlexRIC: "octet-string" or "integer". */
PyObject *s_nssai(void);

/* File name of FlexRIC's library as it is loaded. */
PyObject *library_path(void);

#endif
