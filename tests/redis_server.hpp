// redis_server.hpp — a Redis of a test's own, on the loopback, with a password, and nothing on
// disk.
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "base/read_file.hpp"
#include "base/socket_address.hpp"
#include "runtime/worker_process.hpp"
#include "tests/free_port.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

class RedisServer {
public:
    static constexpr const char* program = "/usr/bin/redis-server";
    static bool is_here() { return std::filesystem::exists(program); }

    RedisServer() {
        address_ = free_port();
        write_file_atomically(file(),
                              fmt::format("bind 127.0.0.1\nport {}\nsave \"\"\nappendonly no\n"
                                          "dir {}\nrequirepass {}\nlogfile {}\n",
                                          address_->port(), scratch_.path().string(), password(),
                                          (scratch_.path() / "log").string()));
        ::chmod(file().c_str(), 0600);
    }
    ~RedisServer() { stop(); }
    RedisServer(const RedisServer&) = delete;
    RedisServer& operator=(const RedisServer&) = delete;

    const SocketAddress& address() const { return *address_; }
    std::string place() const { return "redis:" + address_->text(); }
    static std::string password() { return "kept-in-a-file-of-mode-0600"; }

    // Empty, at the same address. Returns once it listens.
    void start() {
        stop();
        runtime::ProcessOrder order;
        order.program = program;
        order.arguments = {file().string()};
        process_.emplace(order);
        while (!answers() && !process_->ended()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
    void stop() {
        if (!process_) return;
        ::kill(process_->id(), SIGCONT);
        process_.reset();
    }
    void freeze() { ::kill(process_->id(), SIGSTOP); }
    void thaw() { ::kill(process_->id(), SIGCONT); }

private:
    std::filesystem::path file() const { return scratch_.path() / "redis.conf"; }
    bool answers() const {
        const FileDescriptor socket(::socket(address_->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
        return ::connect(socket.get(), address_->data(), address_->size()) == 0;
    }
    ScratchFolder scratch_;
    std::optional<SocketAddress> address_;
    std::optional<runtime::WorkerProcess> process_;
};

}  // namespace ukemi
