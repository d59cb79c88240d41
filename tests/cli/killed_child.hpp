// killed_child.hpp — a child that is killed at the n-th stop on its way: once before and once after
// each of its system calls. No clock is asked, so that a place can be come back to.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <stdexcept>

namespace ukemi {

struct ChildEnd {
    std::size_t stops = 0;  // that it came to
    bool killed = false;    // else it went its way to the end
    int code = 0;           // how it ended then
};

inline ChildEnd killed_at(std::size_t stop, const std::function<void()>& work) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("cannot fork");
    if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(99);
        ::raise(SIGSTOP);
        int code = 0;
        try {
            work();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "child: %s\n", error.what());
            code = 98;
        }
        ::_exit(code);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ChildEnd end;
    if (WIFSTOPPED(status)) {
        ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
        while (WIFSTOPPED(status) && end.stops < stop) {
            ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
            ::waitpid(child, &status, 0);
            ++end.stops;
        }
        if (WIFSTOPPED(status)) {
            ::kill(child, SIGKILL);
            ::waitpid(child, &status, 0);
        }
    }
    end.killed = WIFSIGNALED(status);
    end.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return end;
}

// How many stops the work has in all; 0 where children cannot be traced.
inline std::size_t stops_of(const std::function<void()>& work) {
    const ChildEnd end = killed_at(std::numeric_limits<std::size_t>::max(), work);
    if (end.code == 99) return 0;
    if (end.killed || end.code != 0) throw std::runtime_error("the child failed by itself");
    return end.stops;
}

// From now on this process is on a file system that cannot exchange two names. False where the
// kernel does not let us.
inline bool forbid_exchange() {
    constexpr std::size_t flags_at = offsetof(seccomp_data, args) + 4 * sizeof(std::uint64_t);
    std::array<sock_filter, 6> code = {
        sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_renameat2},
        sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, flags_at},
        sock_filter{BPF_JMP | BPF_JSET | BPF_K, 0, 1, RENAME_EXCHANGE},
        sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EINVAL},
        sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    const sock_fprog program{code.size(), code.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace ukemi
