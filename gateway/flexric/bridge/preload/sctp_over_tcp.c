/* Preloaded where the kernel has no SCTP: SCTP sockets over loopback TCP, one-to-many as far as
 * FlexRIC uses them, one-to-one as far as OAI does: a gNB that connects to its AMF, a CU that accepts
 * its DUs. For tests and demonstrations on one machine.
 *
 * The file descriptor of the program's socket is an epoll instance over the TCP connections. So a
 * message wakes only the thread that waits for it, as with SCTP.
 *
 * A message travels as its length, payload protocol identifier and stream, then its bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/sctp.h> /* needs the headers above */

enum { DESCRIPTORS = 65536, MESSAGE_BYTES = 1 << 20, STREAMS = 16 };

typedef struct {
    uint32_t bytes, ppid;
    uint16_t stream;
} head_t;

typedef struct association {
    int fd; /* -1: closed. Kept for threads that still send. */
    sctp_assoc_t id;
    struct sockaddr_in peer;
    pthread_mutex_t sending;
    struct association *next;
} association_t;

typedef struct notice {
    struct sockaddr_in peer;
    union sctp_notification content;
    size_t bytes;
    struct notice *next;
} notice_t;

typedef struct {
    int inner;     /* the epoll instance */
    int listening; /* -1: not listening */
    int bell;      /* signals queued notifications */
    bool one_to_one;
    struct sctp_event_subscribe events;
    pthread_mutex_t mutex; /* protects the fields below */
    association_t *associations;
    notice_t *notices, **last_notice;
    association_t *readable; /* used by the receiving thread only */
    pthread_t accepting;
} endpoint_t;

static endpoint_t *endpoints[DESCRIPTORS];
static sctp_assoc_t last_id; /* of all endpoints: OAI knows associations by their number alone */

/* Declarations of <netinet/sctp.h>, which is not installed everywhere. */
int sctp_sendmsg(int fd, const void *bytes, size_t length, struct sockaddr *to, socklen_t to_length,
                 uint32_t ppid, uint32_t flags, uint16_t stream, uint32_t ttl, uint32_t context);
int sctp_recvmsg(int fd, void *to, size_t room, struct sockaddr *from, socklen_t *from_length,
                 struct sctp_sndrcvinfo *info, int *flags);
int sctp_bindx(int fd, struct sockaddr *addresses, int count, int flags);
int sctp_connectx(int fd, struct sockaddr *addresses, int count, sctp_assoc_t *id);
int sctp_getpaddrs(int fd, sctp_assoc_t id, struct sockaddr **addresses);
int sctp_freepaddrs(struct sockaddr *addresses);

typedef struct {
    int (*socket)(int, int, int);
    int (*bind)(int, const struct sockaddr *, socklen_t);
    int (*listen)(int, int);
    int (*accept)(int, struct sockaddr *, socklen_t *);
    int (*connect)(int, const struct sockaddr *, socklen_t);
    int (*setsockopt)(int, int, int, const void *, socklen_t);
    int (*getsockopt)(int, int, int, void *, socklen_t *);
    int (*close)(int);
    int (*epoll_wait)(int, struct epoll_event *, int, int);
} functions_t;

/* The functions that ours stand in front of. Looked up by the first call, which may come from the
 * constructor of a library that is initialised before this one. */
static const functions_t *next(void)
{
    static functions_t functions;
    static bool found;
    if (!__atomic_load_n(&found, __ATOMIC_ACQUIRE)) {
        *(void **)&functions.socket = dlsym(RTLD_NEXT, "socket");
        *(void **)&functions.bind = dlsym(RTLD_NEXT, "bind");
        *(void **)&functions.listen = dlsym(RTLD_NEXT, "listen");
        *(void **)&functions.accept = dlsym(RTLD_NEXT, "accept");
        *(void **)&functions.connect = dlsym(RTLD_NEXT, "connect");
        *(void **)&functions.setsockopt = dlsym(RTLD_NEXT, "setsockopt");
        *(void **)&functions.getsockopt = dlsym(RTLD_NEXT, "getsockopt");
        *(void **)&functions.close = dlsym(RTLD_NEXT, "close");
        *(void **)&functions.epoll_wait = dlsym(RTLD_NEXT, "epoll_wait");
        __atomic_store_n(&found, true, __ATOMIC_RELEASE);
    }
    return &functions;
}

static endpoint_t *endpoint_of(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS ? __atomic_load_n(&endpoints[fd], __ATOMIC_ACQUIRE) : NULL;
}

/* -------------------------------------------------------------------------- notifications */

static void notify(endpoint_t *ep, const struct sockaddr_in *peer,
                   const union sctp_notification *content, size_t bytes)
{
    notice_t *notice = calloc(1, sizeof *notice);
    if (notice == NULL)
        return;
    *notice = (notice_t){.peer = *peer, .content = *content, .bytes = bytes};
    pthread_mutex_lock(&ep->mutex);
    *ep->last_notice = notice;
    ep->last_notice = &notice->next;
    eventfd_write(ep->bell, 1);
    pthread_mutex_unlock(&ep->mutex);
}

static void notify_change(endpoint_t *ep, const association_t *of, uint16_t state)
{
    if (!ep->events.sctp_association_event)
        return;
    const union sctp_notification change = {
        .sn_assoc_change = {.sac_type = SCTP_ASSOC_CHANGE,
                            .sac_length = sizeof(struct sctp_assoc_change),
                            .sac_state = state,
                            .sac_assoc_id = of->id}};
    notify(ep, &of->peer, &change, sizeof change.sn_assoc_change);
}

static bool has_notice(endpoint_t *ep)
{
    pthread_mutex_lock(&ep->mutex);
    const bool has = ep->notices != NULL;
    pthread_mutex_unlock(&ep->mutex);
    return has;
}

static notice_t *take_notice(endpoint_t *ep)
{
    eventfd_t ignored;
    pthread_mutex_lock(&ep->mutex);
    notice_t *notice = ep->notices;
    if (notice != NULL)
        ep->notices = notice->next;
    if (ep->notices == NULL) {
        ep->last_notice = &ep->notices;
        eventfd_read(ep->bell, &ignored);
    }
    pthread_mutex_unlock(&ep->mutex);
    return notice;
}

/* --------------------------------------------------------------------------- associations */

static association_t *join(endpoint_t *ep, int fd, const struct sockaddr_in *peer)
{
    const int yes = 1;
    association_t *joined = calloc(1, sizeof *joined);
    if (joined == NULL) {
        next()->close(fd);
        return NULL;
    }
    next()->setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    joined->fd = fd;
    joined->peer = *peer;
    memset(joined->peer.sin_zero, 0, sizeof joined->peer.sin_zero);
    pthread_mutex_init(&joined->sending, NULL);
    pthread_mutex_lock(&ep->mutex);
    joined->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
    joined->next = ep->associations;
    ep->associations = joined;
    pthread_mutex_unlock(&ep->mutex);
    notify_change(ep, joined, SCTP_COMM_UP);
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = joined};
    epoll_ctl(ep->inner, EPOLL_CTL_ADD, fd, &event);
    return joined;
}

static void leave(endpoint_t *ep, association_t *left)
{
    pthread_mutex_lock(&left->sending);
    pthread_mutex_lock(&ep->mutex);
    epoll_ctl(ep->inner, EPOLL_CTL_DEL, left->fd, NULL);
    next()->close(left->fd);
    left->fd = -1;
    pthread_mutex_unlock(&ep->mutex);
    pthread_mutex_unlock(&left->sending);
    notify_change(ep, left, SCTP_SHUTDOWN_COMP);
    if (ep->events.sctp_shutdown_event) {
        const union sctp_notification over = {
            .sn_shutdown_event = {.sse_type = SCTP_SHUTDOWN_EVENT,
                                  .sse_length = sizeof(struct sctp_shutdown_event),
                                  .sse_assoc_id = left->id}};
        notify(ep, &left->peer, &over, sizeof over.sn_shutdown_event);
    }
}

static void *keep_accepting(void *of)
{
    endpoint_t *ep = of;
    for (;;) {
        struct sockaddr_in peer;
        socklen_t length = sizeof peer;
        const int fd = accept4(ep->listening, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC);
        if (fd >= 0)
            join(ep, fd, &peer);
        else if (errno != EINTR && errno != ECONNABORTED)
            return NULL;
    }
}

static association_t *with(endpoint_t *ep, const struct sockaddr_in *peer)
{
    pthread_mutex_lock(&ep->mutex);
    association_t *found = ep->associations;
    while (found != NULL &&
           (found->fd < 0 || found->peer.sin_port != peer->sin_port ||
            found->peer.sin_addr.s_addr != peer->sin_addr.s_addr))
        found = found->next;
    pthread_mutex_unlock(&ep->mutex);
    return found;
}

/* The association of a one-to-one socket. */
static association_t *only(endpoint_t *ep)
{
    pthread_mutex_lock(&ep->mutex);
    association_t *found = ep->associations;
    while (found != NULL && found->fd < 0)
        found = found->next;
    pthread_mutex_unlock(&ep->mutex);
    return found;
}

static association_t *set_up(endpoint_t *ep, const struct sockaddr_in *peer)
{
    const int fd = next()->socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return NULL;
    if (next()->connect(fd, (const struct sockaddr *)peer, sizeof *peer) == 0)
        return join(ep, fd, peer);
    const int why = errno;
    next()->close(fd);
    errno = why;
    return NULL;
}

/* -------------------------------------------------------------------------------- sockets */

int socket(int domain, int type, int protocol)
{
    if (protocol != IPPROTO_SCTP)
        return next()->socket(domain, type, protocol);
    endpoint_t *ep = calloc(1, sizeof *ep);
    const int fd = epoll_create1(EPOLL_CLOEXEC);
    if (ep == NULL || fd < 0 || fd >= DESCRIPTORS) {
        free(ep);
        errno = EMFILE;
        return -1;
    }
    ep->inner = fd;
    ep->listening = -1;
    ep->last_notice = &ep->notices;
    ep->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ep->one_to_one = (type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) == SOCK_STREAM;
    pthread_mutex_init(&ep->mutex, NULL);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(fd, EPOLL_CTL_ADD, ep->bell, &event);
    __atomic_store_n(&endpoints[fd], ep, __ATOMIC_RELEASE);
    return fd;
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
    endpoint_t *ep = endpoint_of(fd);
    if (ep == NULL)
        return next()->bind(fd, address, length);
    const int yes = 1;
    ep->listening = next()->socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    next()->setsockopt(ep->listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    return next()->bind(ep->listening, address, length);
}

int listen(int fd, int backlog)
{
    endpoint_t *ep = endpoint_of(fd);
    if (ep == NULL)
        return next()->listen(fd, backlog);
    if (next()->listen(ep->listening, backlog) != 0)
        return -1;
    if (ep->one_to_one) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = ep};
        return epoll_ctl(ep->inner, EPOLL_CTL_ADD, ep->listening, &event);
    }
    errno = pthread_create(&ep->accepting, NULL, keep_accepting, ep);
    return errno == 0 ? 0 : -1;
}

/* RFC 6458 §4.1.4: a socket of the association, which has the listener's events. */
int accept(int fd, struct sockaddr *address, socklen_t *length)
{
    endpoint_t *ep = endpoint_of(fd);
    if (ep == NULL)
        return next()->accept(fd, address, length);
    struct sockaddr_in peer;
    socklen_t bytes = sizeof peer;
    const int from = accept4(ep->listening, (struct sockaddr *)&peer, &bytes, SOCK_CLOEXEC);
    const int made = from < 0 ? -1 : socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
    if (made < 0) {
        if (from >= 0)
            next()->close(from);
        return -1;
    }
    if (join(endpoint_of(made), from, &peer) == NULL) {
        close(made);
        errno = ENOMEM;
        return -1;
    }
    /* Only now: that the association is up is what this call returns, and no event. */
    endpoint_of(made)->events = ep->events;
    if (address != NULL) {
        memcpy(address, &peer, *length < bytes ? *length : bytes);
        *length = bytes;
    }
    return made;
}

/* RFC 6458 §3.1.6: an association without a message. */
int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    endpoint_t *ep = endpoint_of(fd);
    if (ep == NULL)
        return next()->connect(fd, address, length);
    const struct sockaddr_in *peer = (const struct sockaddr_in *)address;
    if (with(ep, peer) != NULL) {
        errno = EISCONN;
        return -1;
    }
    return set_up(ep, peer) != NULL ? 0 : -1;
}

/* RFC 6458 §9.1. A port of 0 is an address that a client sends from. */
int sctp_bindx(int fd, struct sockaddr *addresses, int count, int flags)
{
    (void)count, (void)flags;
    if (((const struct sockaddr_in *)addresses)->sin_port == 0)
        return 0;
    return bind(fd, addresses, sizeof(struct sockaddr_in));
}

/* RFC 6458 §9.9. */
int sctp_connectx(int fd, struct sockaddr *addresses, int count, sctp_assoc_t *id)
{
    (void)count;
    if (connect(fd, addresses, sizeof(struct sockaddr_in)) != 0)
        return -1;
    endpoint_t *ep = endpoint_of(fd);
    association_t *made = ep != NULL ? only(ep) : NULL;
    if (id != NULL && made != NULL)
        *id = made->id;
    return 0;
}

/* RFC 6458 §9.3. */
int sctp_getpaddrs(int fd, sctp_assoc_t id, struct sockaddr **addresses)
{
    (void)id;
    endpoint_t *ep = endpoint_of(fd);
    association_t *of = ep != NULL ? only(ep) : NULL;
    struct sockaddr_in *found = of != NULL ? malloc(sizeof *found) : NULL;
    if (found == NULL)
        return -1;
    *found = of->peer;
    *addresses = (struct sockaddr *)found;
    return 1;
}

int sctp_freepaddrs(struct sockaddr *addresses)
{
    free(addresses);
    return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    endpoint_t *ep = endpoint_of(fd);
    if (ep == NULL)
        return next()->setsockopt(fd, level, name, value, length);
    if (level == IPPROTO_SCTP && name == SCTP_EVENTS)
        memcpy(&ep->events, value, length < sizeof ep->events ? length : sizeof ep->events);
    return 0;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
    endpoint_t *ep = endpoint_of(fd);
    if (ep == NULL)
        return next()->getsockopt(fd, level, name, value, length);
    memset(value, 0, *length);
    if (level == IPPROTO_SCTP && name == SCTP_STATUS && *length >= sizeof(struct sctp_status)) {
        const association_t *of = only(ep);
        *(struct sctp_status *)value =
            (struct sctp_status){.sstat_assoc_id = of != NULL ? of->id : 0,
                                 .sstat_state = of != NULL ? SCTP_ESTABLISHED : SCTP_CLOSED,
                                 .sstat_instrms = STREAMS,
                                 .sstat_outstrms = STREAMS};
    }
    if (level == SOL_SOCKET && name == SO_TYPE && *length >= sizeof(int))
        *(int *)value = ep->one_to_one ? SOCK_STREAM : SOCK_SEQPACKET;
    return 0;
}

int close(int fd)
{
    endpoint_t *ep = endpoint_of(fd);
    if (ep == NULL)
        return next()->close(fd);
    __atomic_store_n(&endpoints[fd], NULL, __ATOMIC_RELEASE);
    if (ep->listening >= 0) {
        shutdown(ep->listening, SHUT_RDWR);
        if (ep->accepting != 0)
            pthread_join(ep->accepting, NULL);
        next()->close(ep->listening);
    }
    /* Threads that still send use endpoint and association, so both are kept. */
    for (association_t *open = ep->associations; open != NULL; open = open->next) {
        shutdown(open->fd, SHUT_RDWR);
        pthread_mutex_lock(&open->sending);
        if (open->fd >= 0)
            next()->close(open->fd);
        open->fd = -1;
        pthread_mutex_unlock(&open->sending);
    }
    next()->close(ep->bell);
    return next()->close(fd);
}

/* ------------------------------------------------------------------------------- messages */

static bool write_all(int fd, struct iovec *parts, size_t count)
{
    while (count > 0) {
        const struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        ssize_t written = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        for (; count > 0 && (size_t)written >= parts->iov_len; ++parts, --count)
            written -= (ssize_t)parts->iov_len;
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + written;
            parts->iov_len -= (size_t)written;
        }
    }
    return true;
}

static bool read_all(int fd, void *to, size_t bytes)
{
    ssize_t got = 0;
    for (size_t at = 0; at < bytes; at += (size_t)got) {
        got = recv(fd, (char *)to + at, bytes - at, MSG_WAITALL);
        if (got < 0 && errno == EINTR)
            got = 0;
        else if (got <= 0)
            return false;
    }
    return true;
}

int sctp_sendmsg(int fd, const void *bytes, size_t length, struct sockaddr *to, socklen_t to_length,
                 uint32_t ppid, uint32_t flags, uint16_t stream, uint32_t ttl, uint32_t context)
{
    (void)to_length, (void)flags, (void)ttl, (void)context;
    endpoint_t *ep = endpoint_of(fd);
    const struct sockaddr_in *peer = (const struct sockaddr_in *)to;
    association_t *over = NULL;
    if (ep != NULL)
        over = peer != NULL ? with(ep, peer) : only(ep);
    if (ep == NULL || (peer == NULL && over == NULL)) {
        errno = ep == NULL ? EBADF : ENOTCONN;
        return -1;
    }
    if (peer == NULL)
        peer = &over->peer;
    if (over == NULL && ep->listening < 0 && (over = set_up(ep, peer)) == NULL)
        return -1;
    bool sent = false;
    if (over != NULL) {
        head_t head = {.bytes = (uint32_t)length, .ppid = ppid, .stream = stream};
        struct iovec parts[] = {{&head, sizeof head}, {(void *)bytes, length}};
        pthread_mutex_lock(&over->sending);
        sent = over->fd >= 0 && write_all(over->fd, parts, 2);
        pthread_mutex_unlock(&over->sending);
    }
    if (!sent && ep->events.sctp_send_failure_event) {
        /* SCTP accepts the message and reports a failure later. */
        const union sctp_notification failed = {
            .sn_send_failed = {.ssf_type = SCTP_SEND_FAILED,
                               .ssf_length = sizeof(struct sctp_send_failed)}};
        notify(ep, peer, &failed, sizeof failed.sn_send_failed);
    }
    return (int)length;
}

/* Whether there is something to receive or to accept, without waiting. Notifications first: the start of an
 * association is delivered before its first message, its end after the last. */
static bool ready(endpoint_t *ep)
{
    while (ep->readable == NULL && !has_notice(ep)) {
        struct epoll_event event;
        char first;
        if (next()->epoll_wait(ep->inner, &event, 1, 0) != 1)
            return false;
        association_t *found = event.data.ptr;
        if (found == NULL)
            continue;
        if ((void *)found == ep)
            return true; /* `accept` would not wait */
        if ((event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0 &&
            recv(found->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) <= 0)
            leave(ep, found);
        else
            ep->readable = found;
    }
    return true;
}

static int receive_notice(endpoint_t *ep, void *to, size_t room, struct sockaddr_in *from)
{
    notice_t *notice = take_notice(ep);
    if (notice == NULL)
        return -1;
    const size_t bytes = notice->bytes < room ? notice->bytes : room;
    memcpy(to, &notice->content, bytes);
    *from = notice->peer;
    free(notice);
    return (int)bytes;
}

/* The bytes of one message, or -1 when its association ended instead. */
static int receive_message(association_t *of, void *to, size_t room, head_t *head)
{
    uint8_t rest[4096];
    if (!read_all(of->fd, head, sizeof *head) || head->bytes > MESSAGE_BYTES)
        return -1;
    const size_t bytes = head->bytes < room ? head->bytes : room;
    if (!read_all(of->fd, to, bytes))
        return -1;
    for (size_t left = head->bytes - bytes, step; left > 0; left -= step) {
        step = left < sizeof rest ? left : sizeof rest;
        if (!read_all(of->fd, rest, step))
            return -1;
    }
    return (int)bytes;
}

int sctp_recvmsg(int fd, void *to, size_t room, struct sockaddr *from, socklen_t *from_length,
                 struct sctp_sndrcvinfo *info, int *flags)
{
    endpoint_t *ep = endpoint_of(fd);
    if (ep == NULL) {
        errno = EBADF;
        return -1;
    }
    struct sockaddr_in peer = {0};
    struct sctp_sndrcvinfo about = {0};
    int bytes = -1, kind = 0;
    while (bytes < 0) {
        struct epoll_event event;
        if (!ready(ep)) {
            next()->epoll_wait(ep->inner, &event, 1, -1);
            continue;
        }
        association_t *of = ep->readable;
        ep->readable = NULL;
        if (of == NULL) {
            bytes = receive_notice(ep, to, room, &peer);
            kind = MSG_NOTIFICATION | MSG_EOR;
            continue;
        }
        head_t head;
        bytes = receive_message(of, to, room, &head);
        if (bytes < 0) {
            leave(ep, of);
            continue;
        }
        peer = of->peer;
        about.sinfo_assoc_id = of->id;
        about.sinfo_ppid = head.ppid;
        about.sinfo_stream = head.stream;
        kind = (size_t)bytes < head.bytes ? MSG_TRUNC : MSG_EOR;
    }
    if (from != NULL && from_length != NULL && *from_length >= sizeof peer) {
        memcpy(from, &peer, sizeof peer);
        *from_length = sizeof peer;
    }
    if (info != NULL)
        *info = about;
    if (flags != NULL)
        *flags = kind;
    return bytes;
}

/* Hides the end of an association, which is no event without a subscription to events. */
int epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms)
{
    for (;;) {
        const int count = next()->epoll_wait(fd, events, most, timeout_ms);
        int left = 0;
        for (int i = 0; i < count; ++i) {
            endpoint_t *ep = endpoint_of(events[i].data.fd);
            if (ep == NULL || ready(ep))
                events[left++] = events[i];
        }
        if (left > 0 || count <= 0)
            return count <= 0 ? count : left;
        if (timeout_ms >= 0)
            return 0;
    }
}
