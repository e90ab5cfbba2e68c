#include "python_api.h"

#include "exchange.h"
#include "installed.h"
#include "nodes.h"
#include "original.h"
#include "sdk.h"

enum { MAX_KPM_NAMES = 64 };

static PyObject *failure_type;

void fx_add_failure(PyObject *module)
{
    failure_type = PyErr_NewException("flexric_bridge_native.Failure", NULL, NULL);
    Py_INCREF(failure_type);
    PyModule_AddObject(module, "Failure", failure_type);
}

static PyObject *failed(const fx_error_t *error)
{
    PyObject *arguments = Py_BuildValue("(ss)", fx_kind_name(error->kind), error->detail);
    if (arguments != NULL)
        PyErr_SetObject(failure_type, arguments);
    Py_XDECREF(arguments);
    return NULL;
}

PyObject *open_ric(const char *ric_address, const char *configuration, const char *libraries,
                   int reports, double blocks_per_s, double rest_s, int away)
{
    fx_error_t error;
    bool good;
    Py_BEGIN_ALLOW_THREADS
    good = fx_open(ric_address, configuration, libraries, reports, blocks_per_s, rest_s, away != 0,
                   &error);
    Py_END_ALLOW_THREADS
    if (!good)
        return failed(&error);
    Py_RETURN_NONE;
}

static PyObject *functions_of(const e2_node_connected_t *node)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < node->len_rf; ++i) {
        const ran_function_t *function = &node->ack_rf[i];
        PyObject *item = Py_BuildValue(
            "(is#iy#)", (int)function->id, (const char *)function->oid.buf,
            (Py_ssize_t)strnlen((const char *)function->oid.buf, function->oid.len),
            (int)function->rev, (const char *)function->defn.buf, (Py_ssize_t)function->defn.len);
        if (item == NULL || PyList_Append(list, item) != 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *node_of(const e2_node_connected_t *node)
{
    char name[FX_NODE_NAME_BYTES];
    const global_e2_node_id_t *id = &node->id;
    PyObject *part = id->cu_du_id != NULL ? PyLong_FromUnsignedLongLong(*id->cu_du_id)
                                          : Py_NewRef(Py_None);
    fx_node_name(id, name);
    /* N takes over the reference, also on failure. */
    return Py_BuildValue("(ssiiiINN)", name, fx_node_type(id->type), (int)id->plmn.mcc,
                         (int)id->plmn.mnc, (int)id->plmn.mnc_digit_len, id->nb_id.nb_id, part,
                         functions_of(node));
}

PyObject *nodes(void)
{
    fx_error_t error;
    e2_node_arr_t connected;
    if (!fx_nodes(&connected, &error))
        return failed(&error);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < connected.len; ++i) {
        PyObject *item = node_of(&connected.n[i]);
        if (item == NULL || PyList_Append(list, item) != 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    free_e2_node_arr(&connected);
    return list;
}

PyObject *subscribe(const char *node_id, int function_id, unsigned int period_ms,
                    PyObject *kpm_names, int sst, int sd, PyObject *trigger, PyObject *action)
{
    char *trigger_at, *action_at;
    Py_ssize_t trigger_bytes, action_bytes;
    const char *names[MAX_KPM_NAMES];
    const Py_ssize_t count = PySequence_Size(kpm_names);
    fx_error_t error;
    uint32_t handle = 0;
    bool good;

    if (count < 0)
        return NULL;
    if (count > MAX_KPM_NAMES) {
        fx_fail(&error, FX_BAD_MESSAGE, "%zd KPM measurements; expected at most %d", count,
                MAX_KPM_NAMES);
        return failed(&error);
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject *name = PySequence_GetItem(kpm_names, i);
        names[i] = name != NULL ? PyUnicode_AsUTF8(name) : NULL;
        Py_XDECREF(name); /* the sequence holds a reference */
        if (names[i] == NULL)
            return NULL;
    }
    if (PyBytes_AsStringAndSize(trigger, &trigger_at, &trigger_bytes) != 0 ||
        PyBytes_AsStringAndSize(action, &action_at, &action_bytes) != 0)
        return NULL;
    const fx_encoded_t sent = {.trigger = (const uint8_t *)trigger_at,
                               .trigger_bytes = (size_t)trigger_bytes,
                               .action = (const uint8_t *)action_at,
                               .action_bytes = (size_t)action_bytes};
    Py_BEGIN_ALLOW_THREADS
    good = fx_subscribe(node_id, function_id, period_ms, names, (size_t)count,
                        (fx_s_nssai_t){.sst = sst, .sd = sd}, &sent, &handle, &error);
    Py_END_ALLOW_THREADS
    return good ? PyLong_FromUnsignedLong(handle) : failed(&error);
}

PyObject *unsubscribe(unsigned int handle)
{
    fx_error_t error;
    bool good;
    Py_BEGIN_ALLOW_THREADS
    good = fx_unsubscribe(handle, &error);
    Py_END_ALLOW_THREADS
    if (!good)
        return failed(&error);
    Py_RETURN_NONE;
}

PyObject *controls(const char *node_id, int function_id, PyObject *header, PyObject *messages)
{
    char *head, *body;
    Py_ssize_t head_bytes, body_bytes;
    fx_control_t list[FX_MAX_TOGETHER];
    uint8_t outcome[FX_MAX_OUTCOME_BYTES];
    size_t outcome_bytes = 0;
    bool done[FX_MAX_TOGETHER] = {false}, good;
    fx_error_t error;

    if (PyBytes_AsStringAndSize(header, &head, &head_bytes) != 0)
        return NULL;
    if (!PyTuple_Check(messages)) {
        PyErr_SetString(PyExc_TypeError, "messages: expected a tuple");
        return NULL;
    }
    const Py_ssize_t count = PyTuple_Size(messages);
    for (Py_ssize_t i = 0; i < count && i < FX_MAX_TOGETHER; ++i) {
        /* The tuple keeps its bytes alive while the GIL is released. */
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(messages, i), &body, &body_bytes) != 0)
            return NULL;
        list[i] = (fx_control_t){.message = (const uint8_t *)body, .bytes = (size_t)body_bytes};
    }
    Py_BEGIN_ALLOW_THREADS
    good = fx_controls(node_id, function_id, (const uint8_t *)head, (size_t)head_bytes, list,
                       (size_t)count, done, outcome, &outcome_bytes, &error);
    Py_END_ALLOW_THREADS
    PyObject *were = PyTuple_New(count < FX_MAX_TOGETHER ? count : FX_MAX_TOGETHER);
    for (Py_ssize_t i = 0; were != NULL && i < PyTuple_Size(were); ++i)
        PyTuple_SetItem(were, i, PyBool_FromLong(done[i]));
    if (were == NULL)
        return NULL;
    if (good)
        return Py_BuildValue("(Ny#Os)", were, (const char *)outcome, (Py_ssize_t)outcome_bytes,
                             Py_None, "");
    return Py_BuildValue("(Ny#ss)", were, (const char *)outcome, (Py_ssize_t)0,
                         fx_kind_name(error.kind), error.detail);
}

PyObject *close_ric(void)
{
    Py_BEGIN_ALLOW_THREADS
    fx_close();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

PyObject *struct_bytes(void)
{
    _Static_assert(sizeof(rlc_radio_bearer_stats_t) == 152, "RLC: bearers of 152 bytes");
    _Static_assert(sizeof(mac_ue_stats_impl_t) == 176, "MAC: UEs of 176 bytes");
#define SIZE(type) #type, (Py_ssize_t)sizeof(type)
    return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n}", SIZE(rlc_radio_bearer_stats_t),
                         SIZE(mac_ue_stats_impl_t), SIZE(kpm_ind_data_t), SIZE(kpm_sub_data_t),
                         SIZE(global_e2_node_id_t), SIZE(e2ap_msg_t), SIZE(e42_xapp_t),
                         SIZE(fr_args_t));
#undef SIZE
}

PyObject *s_nssai(void)
{
    return PyUnicode_FromString(FX_S_NSSAI_IS_INTEGER ? "integer" : "octet-string");
}

PyObject *library_path(void)
{
    return PyUnicode_DecodeFSDefault(fx_library_path());
}
