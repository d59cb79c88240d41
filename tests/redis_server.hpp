// redis_server.hpp — a Redis of a test's own, on the loopback or in a namespace, with a password,
// and nothing on disk.
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

    RedisServer() : RedisServer(free_port(), {}) {}
    // With words to put before its command.
    RedisServer(const SocketAddress& address, std::vector<std::string> before)
        : address_(address), words_(std::move(before)) {
        write_file_atomically(
            file(), fmt::format("bind {}\nport {}\nsave \"\"\nappendonly no\n"
                                "dir {}\nrequirepass {}\nlogfile {}\n",
                                address_.host(), address_.port(), scratch_.path().string(),
                                password(), log().string()));
        ::chmod(file().c_str(), 0600);
        words_.emplace_back(program);
        words_.push_back(file().string());
    }
    ~RedisServer() { stop(); }
    RedisServer(const RedisServer&) = delete;
    RedisServer& operator=(const RedisServer&) = delete;

    const SocketAddress& address() const { return address_; }
    std::string place() const { return "redis:" + address_.text(); }
    static std::string password() { return "kept-in-a-file-of-mode-0600"; }

    // Empty, at the same address. Returns once it listens.
    void start() {
        stop();
        std::filesystem::remove(log());
        runtime::ProcessOrder order;
        order.program = words_.front();
        order.arguments.assign(words_.begin() + 1, words_.end());
        process_.emplace(order);
        while (!listens() && !process_->ended()) {
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
    std::filesystem::path log() const { return scratch_.path() / "log"; }
    bool listens() const {
        const bool has_log = std::filesystem::exists(log());
        return has_log && read_file(log()).find("eady to accept connections") != std::string::npos;
    }
    ScratchFolder scratch_;
    SocketAddress address_;
    std::vector<std::string> words_;
    std::optional<runtime::WorkerProcess> process_;
};

}  // namespace ukemi
