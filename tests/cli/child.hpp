// child.hpp — runs the built `ukemi` as its users do: a process of its own, no shell in between.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/scratch_folder.hpp"

namespace ukemi {

struct Ran {
    int code = -1;  // the exit code, or minus the signal
    std::string out;
    std::string err;
};

enum class Output { kept, closed, pipe_without_reader, full_disk };

inline std::string text_in(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

// A program that runs; what it prints is kept in files, for neither stream is a terminal.
class RunningProgram {
public:
    RunningProgram(const char* program, const std::filesystem::path& folder,
                   std::vector<std::string> arguments, Output output) {
        posix_spawn_file_actions_t actions{};
        posix_spawn_file_actions_init(&actions);
        constexpr int create = O_WRONLY | O_CREAT | O_TRUNC;
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err().c_str(), create, 0600);
        int ends[2] = {-1, -1};
        switch (output) {
            case Output::kept:
                posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out().c_str(), create,
                                                 0600);
                break;
            case Output::closed: posix_spawn_file_actions_addclose(&actions, STDOUT_FILENO); break;
            case Output::full_disk:
                posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/full", O_WRONLY, 0);
                break;
            case Output::pipe_without_reader:
                if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
                close(ends[0]);
                posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
                break;
        }
        posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
        arguments.insert(arguments.begin(), std::filesystem::path(program).filename().string());
        std::vector<char*> argv;
        for (std::string& argument : arguments) argv.push_back(argument.data());
        argv.push_back(nullptr);
        const int failed = posix_spawn(&process_, program, &actions, nullptr, argv.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        if (ends[1] != -1) close(ends[1]);
        if (failed != 0) throw std::runtime_error(std::string("cannot start ") + program);
    }

    bool has_ended() {
        return ended_ || (ended_ = waitpid(process_, &status_, WNOHANG) == process_);
    }
    void send(int signal) {
        if (!has_ended()) ::kill(process_, signal);
    }
    std::string said() const { return text_in(err()); }  // so far
    pid_t id() const { return process_; }
    Ran wait() {
        if (!ended_ && waitpid(process_, &status_, 0) != process_) {
            throw std::runtime_error("lost the child");
        }
        ended_ = true;
        return {WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_), text_in(out()),
                text_in(err())};
    }

private:
    std::string out() const { return (streams_.path() / "out").string(); }
    std::string err() const { return (streams_.path() / "err").string(); }

    ScratchFolder streams_;
    pid_t process_ = 0;
    int status_ = 0;
    bool ended_ = false;
};

// Runs `program` with these arguments in `folder`; neither stream is a terminal.
inline Ran run_program(const char* program, const std::filesystem::path& folder,
                       std::vector<std::string> arguments, Output output = Output::kept) {
    return RunningProgram(program, folder, std::move(arguments), output).wait();
}

// Sends the signal once something has happened; a program that ends before gets none.
inline Ran run_ukemi_until(const std::filesystem::path& folder, std::vector<std::string> arguments,
                           int signal, const std::function<bool()>& happened) {
    RunningProgram child(UKEMI_BINARY, folder, std::move(arguments), Output::kept);
    while (!happened() && !child.has_ended()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    child.send(signal);
    return child.wait();
}

inline Ran run_ukemi(const std::filesystem::path& folder, std::vector<std::string> arguments,
                     Output output = Output::kept) {
    return run_program(UKEMI_BINARY, folder, std::move(arguments), output);
}

inline std::filesystem::path shipped(const char* scenario) {
    return std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios" / scenario;
}

inline std::filesystem::path write_file(const std::filesystem::path& file,
                                        const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
}

// A complaint is one line that begins with the program's name.
inline bool is_one_line(const std::string& err) {
    return err.starts_with("ukemi: ") && err.ends_with('\n') && err.find('\n') == err.size() - 1;
}

// One instance that is there for the first of two hours.
inline const std::string capacity_csv = "# id=x duration_s=7200\nt_s,instances\n0,1\n3600,0\n";

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// How many columns of a terminal a line takes: its characters, none of which are wide.
inline std::size_t columns_in(const std::string& line) {
    return static_cast<std::size_t>(
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// Everything in a folder, hidden or not, so that nothing can be left behind unseen.
using Names = std::vector<std::string>;

inline Names names_in(const std::filesystem::path& folder) {
    Names names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace ukemi
