/* Preloaded into nearRT-RIC and into E2 agents: makes epoll on their SCTP sockets level-triggered.
 *
 * FlexRIC uses edge-triggered epoll, yet reads one message per event. Of two messages that arrive
 * before the first is read, the second stays unread until a third arrives, which then stays in its
 * place: from then on every message is answered one late, permanently. After a burst, such as a peer
 * that dies under load leaves behind, the RIC answers no request in time any more.
 *
 * FlexRIC's SCTP sockets are one-to-many (SOCK_SEQPACKET); other sockets are not affected.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

typedef int (*epoll_ctl_t)(int, int, int, struct epoll_event *);

static int is_seqpacket(int fd)
{
    const int errno_before = errno;
    int type = 0;
    socklen_t length = sizeof type;
    const int rc = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length);
    errno = errno_before;
    return rc == 0 && type == SOCK_SEQPACKET;
}

int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
    /* dlsym returns an object pointer; POSIX allows the conversion. */
    const epoll_ctl_t next = (epoll_ctl_t)(uintptr_t)dlsym(RTLD_NEXT, "epoll_ctl");
    if (next == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (event == NULL || (event->events & EPOLLET) == 0 || !is_seqpacket(fd))
        return next(epfd, op, fd, event);
    struct epoll_event level = *event;
    level.events &= ~(uint32_t)EPOLLET;
    return next(epfd, op, fd, &level);
}
