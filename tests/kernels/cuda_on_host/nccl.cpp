// nccl.cpp — the part of NCCL that our code calls, between processes of this machine whose devices
// are their hosts.
//
// All bytes go through the process that made the communicator's id: each rank sends what it has,
// and gets what all have. It is as unhelpful as NCCL may be: nothing waits for a call, an operation
// that lacks a rank hangs on its stream until it is aborted, two ranks on one device are refused,
// a rank that is gone is an error that names nobody, and a shrink puts its child there late, from a
// thread of its own, while the parent takes no other call.
#include <arpa/inet.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace {

bool send_all(int socket, const void* from, std::size_t bytes) {
    const auto* at = static_cast<const char*>(from);
    while (bytes > 0) {
        const ssize_t sent = ::send(socket, at, bytes, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        at += sent;
        bytes -= static_cast<std::size_t>(sent);
    }
    return true;
}
bool receive_all(int socket, void* into, std::size_t bytes) {
    auto* at = static_cast<char*>(into);
    while (bytes > 0) {
        const ssize_t got = ::recv(socket, at, bytes, 0);
        if (got <= 0) return false;
        at += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

struct Greeting {
    std::int32_t rank = 0;
    std::int32_t size = 0;
    char device[16] = {};
};

struct Answer {
    std::uint16_t apart = 0;     // 1: no two ranks are on one device
    std::uint16_t children = 0;  // the door for groups within this one
};

std::uint16_t open_door();

// Who is there, and then, round after round, everybody's bytes to everybody.
struct Hub {
    ~Hub() {
        for (const int socket : ranks) ::close(socket);
    }
    bool meet(int door) {
        std::vector<Greeting> greetings;
        do {
            const int socket = ::accept(door, nullptr, nullptr);
            if (socket < 0) return false;
            Greeting one;
            if (!receive_all(socket, &one, sizeof one)) {
                ::close(socket);  // who has given up before
                continue;
            }
            ranks.resize(static_cast<std::size_t>(one.size), -1);
            ranks.at(static_cast<std::size_t>(one.rank)) = socket;
            greetings.push_back(one);
        } while (greetings.empty() || greetings.size() < ranks.size());
        Answer answer{1, open_door()};
        for (const Greeting& a : greetings) {
            for (const Greeting& b : greetings) {
                if (a.rank != b.rank && std::memcmp(a.device, b.device, 16) == 0) answer.apart = 0;
            }
        }
        for (const int socket : ranks) send_all(socket, &answer, sizeof answer);
        return true;
    }
    bool round() {
        std::vector<char> all;
        for (const int socket : ranks) {
            std::uint64_t bytes = 0;
            if (!receive_all(socket, &bytes, sizeof bytes)) return false;
            all.resize(all.size() + bytes);
            if (!receive_all(socket, all.data() + all.size() - bytes, bytes)) return false;
        }
        return std::ranges::all_of(
            ranks, [&](int socket) { return send_all(socket, all.data(), all.size()); });
    }
    std::vector<int> ranks;
};

// One group after the other may meet there.
std::uint16_t open_door() {
    const int door = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (door < 0 || ::bind(door, raw, size) != 0 || ::listen(door, 64) != 0) return 0;
    if (::getsockname(door, raw, &size) != 0) return 0;
    std::thread([door] {
        for (;;) {
            auto hub = std::make_shared<Hub>();
            if (!hub->meet(door)) return;
            std::thread([hub] {
                while (hub->round()) {
                }
            }).detach();
        }
    }).detach();
    return ntohs(address.sin_port);
}

std::size_t bytes_of(ncclDataType_t type) {
    switch (type) {
        case ncclFloat16: return 2;
        case ncclFloat32:
        case ncclInt32: return 4;
        default: return 1;
    }
}

template <class Value>
void combine(char* into, const char* from, std::size_t bytes, bool maximum) {
    for (std::size_t at = 0; at + sizeof(Value) <= bytes; at += sizeof(Value)) {
        Value a{};
        Value b{};
        std::memcpy(&a, into + at, sizeof a);
        std::memcpy(&b, from + at, sizeof b);
        a = maximum ? std::max(a, b) : static_cast<Value>(a + b);
        std::memcpy(into + at, &a, sizeof a);
    }
}

}  // namespace

namespace {

// Kept by what is on streams, too.
struct Connection {
    int rank = 0;
    int size = 1;
    int socket = -1;
    std::atomic<ncclResult_t> state{ncclInProgress};
    std::atomic<std::uint16_t> children{0};

    ~Connection() {
        if (socket >= 0) ::close(socket);
    }
    void end() {
        state = ncclSystemError;
        ::shutdown(socket, SHUT_RDWR);
    }
    void connect(std::uint16_t port, const Greeting& greeting) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port);
        const auto* raw = reinterpret_cast<const sockaddr*>(&address);
        Answer answer;
        // Ended meanwhile: nothing would end the wait for an answer any more.
        const bool there = ::connect(socket, raw, sizeof address) == 0 && state == ncclInProgress &&
                           send_all(socket, &greeting, sizeof greeting) &&
                           receive_all(socket, &answer, sizeof answer);
        children = answer.children;
        ncclResult_t still = ncclInProgress;
        state.compare_exchange_strong(still, !there              ? ncclRemoteError
                                             : answer.apart == 1 ? ncclSuccess
                                                                 : ncclInvalidUsage);
    }
    // Everybody's, rank after rank; empty if somebody is gone.
    std::vector<char> exchange(const void* own, std::size_t bytes) {
        const std::uint64_t length = bytes;
        std::vector<char> all(bytes * static_cast<std::size_t>(size));
        const bool done = send_all(socket, &length, sizeof length) &&
                          send_all(socket, own, bytes) &&
                          receive_all(socket, all.data(), all.size());
        if (done) return all;
        state = ncclRemoteError;
        return {};
    }
};

}  // namespace

struct ncclComm {
    std::shared_ptr<Connection> to = std::make_shared<Connection>();
    std::atomic<bool> shrinks{false};
    std::shared_ptr<Connection> child;  // of the last shrink
    std::thread shrinking;
};

namespace {

Greeting greeting_of(ncclComm_t comm, int rank, int size) {
    comm->to->rank = rank;
    comm->to->size = size;
    comm->to->socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    Greeting greeting;
    greeting.rank = rank;
    greeting.size = size;
    int device = 0;
    cudaDeviceProp properties{};
    cudaGetDevice(&device);
    cudaGetDeviceProperties(&properties, device);
    std::memcpy(greeting.device, &properties.uuid, sizeof greeting.device);
    return greeting;
}

// Behind what is on the stream; it may wait there for as long as a peer lets it.
ncclResult_t launch(ncclComm_t comm, cudaStream_t stream, std::function<void(Connection&)> run) {
    if (comm->shrinks) return ncclInvalidUsage;
    if (comm->to->state != ncclSuccess) return comm->to->state;
    auto* kept = new std::function<void()>([to = comm->to, run = std::move(run)] { run(*to); });
    const auto call = [](void* given) {
        auto* launched = static_cast<std::function<void()>*>(given);
        (*launched)();
        delete launched;
    };
    return cudaLaunchHostFunc(stream, call, kept) == cudaSuccess ? ncclSuccess
                                                                 : ncclUnhandledCudaError;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
    return result == ncclSuccess ? "no error" : "an error of NCCL on the host";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    const std::uint16_t port = open_door();
    std::memset(id->internal, 0, sizeof id->internal);
    std::memcpy(id->internal, &port, sizeof port);
    return port == 0 ? ncclSystemError : ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
    if (config->blocking != 0) return ncclInvalidUsage;
    std::uint16_t port = 0;
    std::memcpy(&port, id.internal, sizeof port);
    *made = new ncclComm;
    const Greeting greeting = greeting_of(*made, rank, size);
    std::thread([to = (*made)->to, port, greeting] { to->connect(port, greeting); }).detach();
    return ncclInProgress;
}
ncclResult_t ncclCommShrink(ncclComm_t parent, int* excluded, int count, ncclComm_t* made,
                            ncclConfig_t* config, int flags) {
    const Connection& from = *parent->to;
    if (config->blocking != 0 || flags != NCCL_SHRINK_DEFAULT || from.state != ncclSuccess ||
        parent->shrinks) {
        return ncclInvalidUsage;
    }
    const auto before =
        std::count_if(excluded, excluded + count, [&](int gone) { return gone < from.rank; });
    auto* child = new ncclComm;
    const Greeting greeting =
        greeting_of(child, from.rank - static_cast<int>(before), from.size - count);
    if (parent->shrinking.joinable()) parent->shrinking.join();
    parent->child = child->to;
    parent->shrinks = true;
    parent->shrinking = std::thread([parent, child, made, greeting, port = from.children.load()] {
        child->to->connect(port, greeting);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        std::atomic_ref(*made).store(child, std::memory_order_release);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        parent->shrinks = false;
    });
    return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
    *result = comm->shrinks ? ncclInProgress : comm->to->state.load();
    return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    return comm->shrinks ? ncclInvalidUsage : ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    comm->to->end();
    if (comm->shrinks) comm->child->end();
    if (comm->shrinking.joinable()) comm->shrinking.join();
    delete comm;
    return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
    if (type != ncclFloat32 && type != ncclInt32 && type != ncclInt8) return ncclInvalidArgument;
    const std::size_t bytes = count * bytes_of(type);
    return launch(comm, stream, [=](Connection& to_all) {
        const std::vector<char> all = to_all.exchange(from, bytes);
        if (all.empty()) return;
        std::memcpy(to, all.data(), bytes);
        for (std::size_t at = bytes; at < all.size(); at += bytes) {
            auto* into = static_cast<char*>(to);
            const bool maximum = operation == ncclMax;
            if (type == ncclFloat32) combine<float>(into, all.data() + at, bytes, maximum);
            if (type == ncclInt32) combine<std::int32_t>(into, all.data() + at, bytes, maximum);
            if (type == ncclInt8) combine<std::int8_t>(into, all.data() + at, bytes, maximum);
        }
    });
}
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
    return launch(comm, stream, [=](Connection& to_all) {
        const std::vector<char> all = to_all.exchange(from, count * bytes_of(type));
        std::memcpy(to, all.data(), all.size());
    });
}
ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
    return launch(comm, stream, [=](Connection& to_all) {
        const std::size_t bytes = count * bytes_of(type);
        const std::vector<char> all = to_all.exchange(from, bytes);
        if (all.empty()) return;
        std::memcpy(to, all.data() + static_cast<std::size_t>(root) * bytes, bytes);
    });
}
// Not played either; no worker calls them.
ncclResult_t ncclSend(const void*, std::size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) {
    return ncclInvalidUsage;
}
ncclResult_t ncclRecv(void*, std::size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) {
    return ncclInvalidUsage;
}
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }
}
