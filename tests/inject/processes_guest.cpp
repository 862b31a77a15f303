// Small programs on sockets, pipes, processes and threads, one a trap: see files_guest.cpp.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trap.h"

extern char** environ;

namespace {

void say(const char* what, long value) {
  printf("%s %ld\n", what, value);
  fflush(stdout);
}

// What is worth a trace at all.
void weigh() { close(open("weight", O_CREAT | O_WRONLY, 0644)); }

void pair() {
  weigh();
  int ends[2];
  char data[64] = "0123456789";
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  say("send", send(ends[0], data, 10, 0));
  say("send", send(ends[0], data, 5, 0));
  say("peek", recv(ends[1], data, 15, MSG_PEEK));
  say("recv", recv(ends[1], data, 15, MSG_WAITALL));
  say("answer", send(ends[1], data, 3, 0));
  say("read", read(ends[0], data, 3));
  say("again", send(ends[0], data, 7, 0));
}

// A client and its server, joined over loopback.
void join(int& client, int& server) {
  int listening = socket(AF_INET6, SOCK_STREAM, 0);
  client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  socklen_t size = sizeof(any);
  bind(listening, reinterpret_cast<sockaddr*>(&any), size);
  listen(listening, 1);
  getsockname(listening, reinterpret_cast<sockaddr*>(&any), &size);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = any.sin6_port;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  say("connect", connect(client, reinterpret_cast<sockaddr*>(&to), sizeof(to)));
  server = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  close(listening);
}

void tcp() {
  int client = -1, server = -1;
  join(client, server);
  char data[16] = "hello";
  say("send", write(client, data, 5));
  say("recv", recv(server, data, sizeof(data), 0));
}

// By a name that is relative, and another one than it was bound to.
void unix_socket() {
  weigh();
  int listening = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  strcpy(name.sun_path, "bound");
  say("bind", bind(listening, reinterpret_cast<sockaddr*>(&name), sizeof(name)));
  listen(listening, 1);
  rename("bound", "renamed");
  strcpy(name.sun_path, "./renamed");
  say("connect", connect(client, reinterpret_cast<sockaddr*>(&name), sizeof(name)));
  errno = 17;
  int server = accept(listening, nullptr, nullptr);
  say("errno", errno);
  say("send", send(client, "hello", 5, 0));
  char data[8];
  say("recv", recv(server, data, sizeof(data), 0));
}

// As PyTorch's store client: who it is, then a set of /k to v and a wait for /k and /long, which comes in two
// sends.
void store() {
  int client = -1, server = -1;
  join(client, server);
  const char magic[] = "\0\xCE\xF7\x85\x3C", set[] = "\1\2\0\0\0\0\0\0\0/k\1\0\0\0\0\0\0\0v";
  const char wait[] = "\6\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0/k\5\0\0\0\0\0\0\0/long";
  say("magic", send(client, magic, sizeof(magic) - 1, 0));
  say("set", send(client, set, sizeof(set) - 1, 0));
  say("wait", send(client, wait, 27, 0));
  say("wait", send(client, wait + 27, sizeof(wait) - 28, 0));
  errno = 17;
  send(client, set, sizeof(set) - 1, 0);
  say("errno", errno);
  char data[16];
  say("not asked", send(server, set, sizeof(set) - 1, 0));
  say("recv", recv(client, data, sizeof(data), 0));
}

// The child closes an end that it inherited and never used; the parent finds the end, then shuts a connection
// down.
void endings() {
  weigh();
  int ends[2];
  (void)!pipe(ends);
  pid_t pid = fork();
  if (!pid) {
    close(open("of_child", O_CREAT | O_WRONLY, 0644));
    close(ends[0]);
    close(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  char data[8];
  say("read", read(ends[0], data, sizeof(data)));
  waitpid(pid, nullptr, 0);
  int client = -1, server = -1;
  join(client, server);
  say("shutdown", shutdown(client, SHUT_WR));
  say("recv", recv(server, data, sizeof(data), 0));
}

void pipes() {
  weigh();
  int ends[2];
  (void)!pipe2(ends, O_CLOEXEC);
  (void)!write(ends[1], "abc", 3);
  char data[8];
  say("read", read(ends[0], data, sizeof(data)));
}

void forked() {
  weigh();
  int ends[2];
  (void)!pipe(ends);
  (void)!write(ends[1], "parent", 6);
  pid_t pid = fork();
  if (!pid) {
    (void)!write(ends[1], "kid", 3);
    close(open("of_child", O_CREAT | O_WRONLY, 0644));
    _exit(7);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  say("status", status);
}

// The child of vfork closes and duplicates in its own table: the parent's must not change.
void vforked() {
  int fd = open("parents", O_CREAT | O_WRONLY, 0644);
  (void)!write(fd, "1", 1);
  pid_t pid = vfork();
  if (!pid) {
    close(fd);
    dup2(1, fd);
    (void)!write(fd, "childs\n", 7);
    execl("/bin/true", "true", nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  (void)!write(fd, "22", 2);
  close(fd);
  say("status", status);
}

void failed_exec() {
  weigh();
  pid_t pid = vfork();
  if (!pid) {
    execlp("no-such-program", "no-such-program", nullptr);
    _exit(errno == ENOENT ? 3 : 4);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  say("status", status);
}

void spawned() {
  weigh();
  pid_t pid = 0;
  char name[] = "sh", flag[] = "-c", command[] = "exit 5";
  char* words[] = {name, flag, command, nullptr};
  say("posix_spawn", posix_spawn(&pid, "/bin/sh", nullptr, nullptr, words, environ));
  siginfo_t info{};
  say("waitid", waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED));
  say("status", info.si_status);
  say("system", system("exit 6"));
}

void executed() {
  weigh();
  char* environment[] = {nullptr};
  execle("/bin/sh", "sh", "-c", "echo $0 $1 $LD_PRELOAD; exit 9", "zero", "one", nullptr, environment);
}

// Nothing was worth a trace yet: who waits for a name gets one, and what it has found before stands in it.
void waiting_look() {
  struct stat state;
  say("stat", stat(".", &state));
  pid_t pid = fork();
  if (!pid) {
    usleep(30000);
    close(open("awaited", O_CREAT | O_WRONLY, 0644));
    _exit(0);
  }
  while (access("awaited", F_OK) != 0) usleep(1000);
  waitpid(pid, nullptr, 0);
}

// A search along a path, which comes by a folder twice: no wait, no trace.
void search() {
  for (int round = 0; round < 20; ++round) {
    access("a/tool", X_OK);
    access("b/tool", X_OK);
    access("b/tool", X_OK);
    usleep(200);
  }
}

void system_v() {
  struct Message {
    long type = 3;
    char text[8] = "hello";
  } message;
  int queue = msgget(IPC_PRIVATE, 0600), set = semget(IPC_PRIVATE, 1, 0600),
      memory = shmget(IPC_PRIVATE, 4096, 0600);
  int sent = msgsnd(queue, &message, sizeof(message.text), 0);
  say("msgsnd", sent + msgsnd(queue, &message, sizeof(message.text), 0));  // a run
  say("msgrcv", msgrcv(queue, &message, sizeof(message.text), 0, 0));
  sembuf up{0, 2, 0}, down{0, -1, 0};
  timespec second{1, 0};
  say("semop", semop(set, &up, 1) + semop(set, &up, 1));  // a run
  say("semtimedop", semtimedop(set, &down, 1, &second));
  say("value", semctl(set, 0, GETVAL));
  errno = 17;
  say("set", semctl(set, 0, SETVAL, 0));
  say("errno", errno);
  down.sem_flg = IPC_NOWAIT;
  say("none", semop(set, &down, 1));
  say("errno", errno);
  say("bad address", semop(set, nullptr, 1));
  void* attached = shmat(memory, nullptr, 0);
  say("attached", attached != reinterpret_cast<void*>(-1));
  shmdt(attached);
  say("no memory", shmat(-1, nullptr, 0) == reinterpret_cast<void*>(-1));
  msgctl(queue, IPC_RMID, nullptr);
  semctl(set, 0, IPC_RMID);
  shmctl(memory, IPC_RMID, nullptr);
}

void posix_queues() {
  char name[32];
  snprintf(name, sizeof(name), "/guest.%d", getpid());
  mq_attr attributes{};
  attributes.mq_maxmsg = 4;
  attributes.mq_msgsize = 16;
  mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes), other = mq_open(name, O_RDWR);
  mq_unlink(name);
  char text[16] = "hello";
  timespec until{};
  say("mq_send", mq_send(queue, text, 5, 0));
  say("mq_timedsend", mq_timedsend(queue, text, 6, 1, &until));
  unsigned priority = 0;
  say("mq_receive", mq_receive(other, text, sizeof(text), &priority));
  say("mq_timedreceive", mq_timedreceive(other, text, sizeof(text), nullptr, &until));
  say("none", mq_timedreceive(other, text, sizeof(text), nullptr, &until));
  say("errno", errno);
}

void events() {
  weigh();
  int one = eventfd(0, 0), two = eventfd(0, EFD_NONBLOCK), changes = inotify_init1(0);
  uint64_t value = 1;
  say("write", write(one, &value, sizeof(value)));
  say("read", read(one, &value, sizeof(value)));
  say("eventfd_write", eventfd_write(one, 5));
  say("eventfd_read", eventfd_read(one, &value));
  say("none", read(two, &value, sizeof(value)));
  say("errno", errno);
  say("watch", inotify_add_watch(changes, ".", IN_CREATE));
  close(open("made", O_CREAT | O_WRONLY, 0644));
  char told[512];
  say("told", read(changes, told, sizeof(told)) > 0);
}

void anonymous() {
  void* shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  void* own = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  say("mapped", shared != MAP_FAILED && own != MAP_FAILED);
}

void signals() {
  weigh();
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  auto took = [&] {
    timespec none{};
    return sigtimedwait(&set, nullptr, &none);
  };
  say("sigqueue", sigqueue(getpid(), SIGUSR1, sigval{}));
  say("took", took());
  say("tgkill", tgkill(getpid(), gettid(), SIGUSR1) + tgkill(getpid(), 1, SIGUSR1));  // a run
  say("took", took());
  errno = 17;
  say("pthread_kill", pthread_kill(pthread_self(), SIGUSR1));
  say("took", took());
  say("pthread_sigqueue", pthread_sigqueue(pthread_self(), SIGUSR1, sigval{}));
  say("took", took());
  say("bad", pthread_kill(pthread_self(), 1000));
  say("errno", errno);
  say("tgkill", tgkill(getpid(), gettid(), 1000));
  say("errno", errno);
}

void returned() { weigh(); }

void* in_thread(void*) {
  close(open("of_thread", O_CREAT | O_WRONLY, 0644));
  return const_cast<char*>("result");
}

extern "C" int earlier_kill(pthread_t, int);
asm(".symver earlier_kill, pthread_kill@GLIBC_2.2.5");  // of programs linked before glibc 2.34
void ended_thread() {
  pthread_t thread;
  pthread_create(&thread, nullptr, in_thread, nullptr);
  for (int turn = 0; turn < 20000 && earlier_kill(thread, 0) == 0; ++turn) usleep(1000);
  say("ended", 0);  // a record of its own for the next one: a run tells whether anybody was found
  say("earlier", earlier_kill(thread, 0));
  say("today", pthread_kill(thread, 0));
}

void threads() {
  weigh();
  pthread_t thread;
  void* result = nullptr;
  pthread_create(&thread, nullptr, in_thread, nullptr);
  pthread_join(thread, &result);
  say("joined", strcmp(static_cast<char*>(result), "result"));
}

constexpr Trap kTraps[] = {{"pair", pair},
                           {"tcp", tcp},
                           {"store", store},
                           {"endings", endings},
                           {"pipes", pipes},
                           {"forked", forked},
                           {"vforked", vforked},
                           {"spawned", spawned},
                           {"executed", executed},
                           {"returned", returned},
                           {"threads", threads},
                           {"failed_exec", failed_exec},
                           {"ended_thread", ended_thread},
                           {"waiting_look", waiting_look},
                           {"search", search},
                           {"system_v", system_v},
                           {"unix_socket", unix_socket},
                           {"posix_queues", posix_queues},
                           {"events", events},
                           {"anonymous", anonymous},
                           {"signals", signals}};

}  // namespace

int main(int argc, char** argv) {
  const Trap* trap = find_trap(kTraps, argc, argv);
  if (!trap) return 2;
  trap->run();
  return trap->run == returned ? 11 : 0;
}
