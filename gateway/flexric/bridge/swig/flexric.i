// The SWIG module `_flexric`: the functions of sdk.h with Python's types, the interpreter's lock
// released while they block. Failures raise `Failure(kind, detail)`. flexric_sdk.py makes of them
// what flexric_bridge.sdk declares.
%module flexric

%{
#include "python_api.h"
%}

%init %{
    fx_add_failure(m);
%}

PyObject *open_ric(const char *ric_address, const char *configuration, const char *libraries,
                   int reports, double blocks_per_s, double rest_s, int away);
PyObject *nodes(void);
PyObject *subscribe(const char *node_id, int function_id, unsigned int period_ms, PyObject *kpm_names,
                    int sst, int sd, PyObject *trigger, PyObject *action);
PyObject *unsubscribe(unsigned int handle);
PyObject *controls(const char *node_id, int function_id, PyObject *header, PyObject *messages);
PyObject *close_ric(void);
PyObject *struct_bytes(void);
PyObject *s_nssai(void);
PyObject *library_path(void);
