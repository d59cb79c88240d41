// worker_process.hpp — one child process: started without a shell, watched, and always reaped.
//
// The child dies with the thread that started it (PR_SET_PDEATHSIG), inherits no descriptor but
// stderr, and its stdout goes there too: the coordinator's own stdout belongs to its results.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"

namespace ukemi::runtime {

struct ProcessOrder {
    std::filesystem::path program;         // looked for on PATH if it is a name alone
    std::vector<std::string> arguments;    // after the program's name
    std::vector<std::string> environment;  // "NAME=value", beside what this process has
    std::optional<int> core;
    std::string input;  // what it finds on its standard input; at most 4 KiB
};

class WorkerProcess {
public:
    // Throws std::system_error if this machine has no room for another process. A program that
    // cannot be executed is a child that ends at once, and says why.
    explicit WorkerProcess(const ProcessOrder& order);
    ~WorkerProcess();  // SIGKILL, and waits until the process is gone
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    pid_t id() const { return process_; }  // −1 once it is reaped
    // Becomes readable when the process ends; −1 if the kernel has no such thing.
    int descriptor() const { return watch_.get(); }
    void send_signal(int signal);
    // If the process has ended: it is reaped now, and this is how it ended. Else nothing.
    std::optional<std::string> ended();

private:
    std::string sentence(int status);
    pid_t process_ = -1;
    FileDescriptor watch_;
    FileDescriptor start_error_;  // the child writes errno here if it cannot execute the program
};

}  // namespace ukemi::runtime
