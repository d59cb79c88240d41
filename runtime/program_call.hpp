// program_call.hpp — a question to a program of the user's: run without a shell, what it reads from
// standard input and prints, within a time. Nothing here blocks but `wait`.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "base/file_descriptor.hpp"
#include "runtime/worker_process.hpp"

namespace ukemi::runtime {

class ProgramCall {
public:
    struct Limits {
        std::chrono::milliseconds time;
        std::size_t bytes;
    };
    struct Answer {
        std::string text;     // all that it has printed
        std::string problem;  // why that is no answer; mostly empty
    };

    // `input`: at most 4 KiB. Throws std::system_error if no process can be made.
    ProgramCall(std::string program, const std::string& input, Limits limits);

    // Once it has ended, or should have; from then on it does not run.
    std::optional<Answer> look();
    void wait(std::chrono::milliseconds at_most) const;  // until there may be something to see

private:
    std::optional<Answer> failed(const std::string& why) const;
    bool read_all();  // false: it has printed too much
    std::string program_;
    Limits limits_;
    std::chrono::steady_clock::time_point end_;
    FileDescriptor reading_;
    std::optional<WorkerProcess> process_;
    std::string text_;
    bool open_ = true;
    std::optional<std::string> how_;
};

}  // namespace ukemi::runtime
