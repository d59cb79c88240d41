// worker_process.cpp — fork and exec; between them only what is safe in a threaded program.
//
// Not Boost.Process: nearly all of this is what happens in the child (death with its parent, a
// process group of its own, one core, signals, descriptors), which would be its hooks to write.
#include "runtime/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <system_error>

#include "base/invariant.hpp"

namespace ukemi::runtime {
namespace {

constexpr int status_cannot_start = 127;

// What the child needs, made before the fork: afterwards nothing may be allocated.
struct Prepared {
    std::vector<std::string> words;
    std::vector<std::string> settings;
    std::vector<char*> argv;
    std::vector<char*> environment;
};

bool is_ours(std::string_view setting) {
    return setting.starts_with("UKEMI_RENDEZVOUS=") || setting.starts_with("UKEMI_WORKER=") ||
           setting.starts_with("UKEMI_SLOT=") || setting.starts_with("UKEMI_SECRET=") ||
           setting.starts_with("UKEMI_AGENT_SECRET=");
}

Prepared prepare(const ProcessOrder& order) {
    Prepared prepared;
    prepared.words.push_back(order.program.string());
    prepared.words.insert(prepared.words.end(), order.arguments.begin(), order.arguments.end());
    for (char** setting = environ; setting != nullptr && *setting != nullptr; ++setting) {
        if (!is_ours(*setting)) prepared.settings.emplace_back(*setting);
    }
    prepared.settings.insert(prepared.settings.end(), order.environment.begin(),
                             order.environment.end());
    for (std::string& word : prepared.words) prepared.argv.push_back(word.data());
    for (std::string& setting : prepared.settings) prepared.environment.push_back(setting.data());
    prepared.argv.push_back(nullptr);
    prepared.environment.push_back(nullptr);
    return prepared;
}

[[noreturn]] void give_up(int error_pipe) {
    const int code = errno;
    [[maybe_unused]] const ssize_t written = ::write(error_pipe, &code, sizeof code);
    ::_exit(status_cannot_start);
}

// A pipe that holds `text`, to be read from; none for no text.
FileDescriptor pipe_with(std::string_view text) {
    constexpr std::size_t surely_taken = 4096;  // by a pipe that nobody reads yet
    if (text.empty()) return {};
    INVARIANT(text.size() <= surely_taken);
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "pipe");
    }
    FileDescriptor reading(ends[0]);
    const FileDescriptor writing(ends[1]);
    if (::write(writing.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        throw std::system_error(errno, std::generic_category(), "write");
    }
    return reading;
}

[[noreturn]] void become_worker(const Prepared& prepared, std::optional<int> core, pid_t parent,
                                int error_pipe, int input, int output) {
    // A parent that is gone before prctl would never be noticed: hence the second look.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) give_up(error_pipe);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD, SIGHUP}) ::signal(signal, SIG_DFL);
    ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a checkpoint that fails, no death
    // The terminal's Ctrl-C is for the coordinator, who then tells the workers.
    ::setpgid(0, 0);
    if (core) {
        cpu_set_t cores;
        CPU_ZERO(&cores);
        CPU_SET(static_cast<std::size_t>(*core), &cores);
        // Refused for a core that this process may not use: then it runs anywhere.
        ::sched_setaffinity(0, sizeof cores, &cores);
    }
    if (input < 0) input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input < 0 || ::dup2(input, STDIN_FILENO) < 0) give_up(error_pipe);
    if (::dup2(output < 0 ? STDERR_FILENO : output, STDOUT_FILENO) < 0) give_up(error_pipe);
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    ::execvpe(prepared.argv.front(), prepared.argv.data(), prepared.environment.data());
    give_up(error_pipe);
}

}  // namespace

WorkerProcess::WorkerProcess(const ProcessOrder& order) {
    INVARIANT(!order.core || (*order.core >= 0 && *order.core < CPU_SETSIZE));
    const Prepared prepared = prepare(order);
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        throw std::system_error(errno, std::generic_category(), "pipe");
    }
    start_error_ = FileDescriptor(ends[0]);
    const FileDescriptor error_pipe(ends[1]);
    const FileDescriptor input = pipe_with(order.input);
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ == 0) {
        become_worker(prepared, order.core, parent, error_pipe.get(), input.get(), order.output);
    }
    if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    watch_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
}

WorkerProcess::~WorkerProcess() {
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

// Until it is reaped, the number cannot belong to anybody else.
void WorkerProcess::kill() {
    if (process_ > 0) ::kill(process_, SIGKILL);
}

std::string WorkerProcess::sentence(int status) {
    if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
    if (WEXITSTATUS(status) == status_cannot_start) {
        int code = 0;
        if (::read(start_error_.get(), &code, sizeof code) == sizeof code) {
            return "could not be started: " + std::generic_category().message(code);
        }
    }
    return fmt::format("ended with status {}", WEXITSTATUS(status));
}

std::optional<std::string> WorkerProcess::ended() {
    if (process_ < 0) return std::nullopt;
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
    process_ = -1;
    watch_.reset();
    return sentence(status);
}

}  // namespace ukemi::runtime
