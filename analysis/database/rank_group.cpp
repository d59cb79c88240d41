#include "analysis/database/rank_group.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

#include "base/input_error.hpp"

#ifdef UKEMI_WITH_MPI
#include <mpi.h>
#endif

namespace ukemi::analysis {

namespace {

// What launchers tell a process that they have started with others.
std::size_t started_processes() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
        const char* const text = std::getenv(name);
        if (text != nullptr) return std::strtoul(text, nullptr, 10);
    }
    return 1;
}

}  // namespace

#ifdef UKEMI_WITH_MPI

namespace {

using Bytes = std::vector<std::uint8_t>;

enum Tag : int { asks, work, done, fails, leaves };

struct Message {
    int from = 0;
    int tag = 0;
    Bytes bytes;
};

void send_bytes(int to, Tag tag, std::span<const std::uint8_t> bytes) {
    MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

template <class Value>
std::span<const std::uint8_t> bytes_of(std::span<const Value> values) {
    return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()};
}

template <class Value>
std::vector<Value> values_in(const Bytes& bytes) {
    std::vector<Value> values(bytes.size() / sizeof(Value));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(Value));
    return values;
}

// MPI's own waiting takes a core.
Message next_message(int from) {
    constexpr auto pause_least = std::chrono::microseconds(50);
    constexpr auto pause_most = std::chrono::milliseconds(2);
    std::chrono::microseconds pause = pause_least;
    MPI_Status status{};
    for (int is_there = 0; is_there == 0;) {
        MPI_Iprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &status);
        if (is_there != 0) break;
        std::this_thread::sleep_for(pause);
        pause = std::min<std::chrono::microseconds>(2 * pause, pause_most);
    }
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    Message message{status.MPI_SOURCE, status.MPI_TAG, Bytes(static_cast<std::size_t>(size))};
    MPI_Recv(message.bytes.data(), size, MPI_BYTE, message.from, message.tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return message;
}

RankFailure failure_in(const Bytes& bytes) {
    RankFailure failure{!bytes.empty() && bytes.front() != 0, ""};
    if (!bytes.empty()) failure.text.assign(bytes.begin() + 1, bytes.end());
    return failure;
}

}  // namespace

RankGroup::RankGroup() {
    if (started_processes() < 2) return;
    int threads = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads);
    int number = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    rank_ = static_cast<std::size_t>(number);
    MPI_Comm_size(MPI_COMM_WORLD, &number);
    size_ = static_cast<std::size_t>(number);
    if (threads >= MPI_THREAD_SERIALIZED) return;
    MPI_Finalize();
    throw InputError("mpirun", "", "its MPI allows no threads");
}

RankGroup::~RankGroup() {
    if (size_ == 1) return;
    if (rank_ > 0) {
        send_bytes(0, leaves, {});
    } else if (!served_) {
        serve({[](std::size_t, std::uint64_t) { return std::vector<std::size_t>(); },
               [](std::span<const std::uint8_t>) {}, [](std::size_t, const RankFailure&) {}});
    }
    MPI_Finalize();
}

void RankGroup::serve(const Server& server) {
    served_ = true;
    std::exception_ptr failure;
    const auto guarded = [&](auto action) {
        if (failure) return;
        try {
            action();
        } catch (...) {
            failure = std::current_exception();
        }
    };
    for (std::size_t others = size_ - 1; others > 0;) {
        const Message message = next_message(MPI_ANY_SOURCE);
        const auto rank = static_cast<std::size_t>(message.from);
        switch (message.tag) {
            case asks: {
                std::vector<std::size_t> next;
                guarded([&] {
                    next = server.hand_out(rank, values_in<std::uint64_t>(message.bytes).at(0));
                });
                send_bytes(message.from, work, bytes_of(std::span<const std::size_t>(next)));
                break;
            }
            case done: guarded([&] { server.take(message.bytes); }); break;
            case fails: guarded([&] { server.fail(rank, failure_in(message.bytes)); }); break;
            default: --others;
        }
    }
    if (failure) std::rethrow_exception(failure);
}

std::vector<std::size_t> RankGroup::ask(std::uint64_t digest) {
    const std::scoped_lock lock(mutex_);
    send_bytes(0, asks, bytes_of(std::span<const std::uint64_t>(&digest, 1)));
    return values_in<std::size_t>(next_message(0).bytes);
}

void RankGroup::send(std::span<const std::uint8_t> bytes) {
    const std::scoped_lock lock(mutex_);
    send_bytes(0, done, bytes);
}

void RankGroup::fail(const RankFailure& failure) {
    Bytes bytes{static_cast<std::uint8_t>(failure.input)};
    bytes.insert(bytes.end(), failure.text.begin(), failure.text.end());
    const std::scoped_lock lock(mutex_);
    send_bytes(0, fails, bytes);
}

#else

RankGroup::RankGroup() {
    if (started_processes() < 2) return;
    throw InputError("mpirun", "",
                     "this build has no MPI (libopenmpi-dev): --shard I/N makes the I-th of N "
                     "parts, and ukemi merge joins them");
}
RankGroup::~RankGroup() = default;
void RankGroup::serve(const Server&) {}
std::vector<std::size_t> RankGroup::ask(std::uint64_t) { return {}; }
void RankGroup::send(std::span<const std::uint8_t>) {}
void RankGroup::fail(const RankFailure&) {}

#endif

}  // namespace ukemi::analysis
