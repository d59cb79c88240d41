// worker_process.hpp — one child process: started without a shell, watched, and always reaped; and
// what a worker's process is wherever it runs.
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
    int output = -1;    // where what it prints goes; −1: to our standard error
};

// A process of a worker: a child of ours, or an agent's.
class WorkerBody {
public:
    virtual ~WorkerBody() = default;  // it ends, however it comes to it
    virtual pid_t id() const = 0;     // −1: none of this machine, or it has been reaped
    // Becomes readable when the process ends; −1 if nothing tells of it but `ended`.
    virtual int descriptor() const = 0;
    virtual void kill() = 0;
    // If the process has ended: this is how. Else nothing.
    virtual std::optional<std::string> ended() = 0;
};

class WorkerProcess final : public WorkerBody {
public:
    // Throws std::system_error if this machine has no room for another process. A program that
    // cannot be executed is a child that ends at once, and says why.
    explicit WorkerProcess(const ProcessOrder& order);
    ~WorkerProcess() override;  // SIGKILL, and waits until the process is gone
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    pid_t id() const override { return process_; }
    int descriptor() const override { return watch_.get(); }
    void kill() override;
    std::optional<std::string> ended() override;  // and reaped

private:
    std::string sentence(int status);
    pid_t process_ = -1;
    FileDescriptor watch_;
    FileDescriptor start_error_;  // the child writes errno here if it cannot execute the program
};

}  // namespace ukemi::runtime
