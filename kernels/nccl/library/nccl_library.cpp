#include "kernels/nccl/library/nccl_library.hpp"

#include <dlfcn.h>
#include <nccl.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/invariant.hpp"
#include "kernels/cuda/device_parts.hpp"
#include "kernels/cuda/handles.hpp"

namespace ukemi::kernels {

namespace {

// NCCL by name: found when a program runs, for it is larger than everything else together.
struct Library {
    template <class Function>
    Function find(const char* name) {
        void* found = shared == nullptr ? nullptr : dlsym(shared, name);
        if (found == nullptr && missing.empty()) {
            const char* error = dlerror();
            missing = error == nullptr ? name : error;
        }
        return reinterpret_cast<Function>(found);
    }

    std::string missing;  // what is not there; then nothing may be called
    void* shared = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);  // never closed
    decltype(&ncclGetVersion) get_version = find<decltype(&ncclGetVersion)>("ncclGetVersion");
    decltype(&ncclGetErrorString) get_error_string =
        find<decltype(&ncclGetErrorString)>("ncclGetErrorString");
    decltype(&ncclGetUniqueId) get_unique_id = find<decltype(&ncclGetUniqueId)>("ncclGetUniqueId");
    decltype(&ncclCommInitRankConfig) init_rank_config =
        find<decltype(&ncclCommInitRankConfig)>("ncclCommInitRankConfig");
    decltype(&ncclCommShrink) shrink = find<decltype(&ncclCommShrink)>("ncclCommShrink");
    decltype(&ncclCommGetAsyncError) get_async_error =
        find<decltype(&ncclCommGetAsyncError)>("ncclCommGetAsyncError");
    decltype(&ncclCommFinalize) finalize = find<decltype(&ncclCommFinalize)>("ncclCommFinalize");
    decltype(&ncclCommDestroy) destroy = find<decltype(&ncclCommDestroy)>("ncclCommDestroy");
    decltype(&ncclCommAbort) abort = find<decltype(&ncclCommAbort)>("ncclCommAbort");
    decltype(&ncclAllReduce) all_reduce = find<decltype(&ncclAllReduce)>("ncclAllReduce");
    decltype(&ncclAllGather) all_gather = find<decltype(&ncclAllGather)>("ncclAllGather");
    decltype(&ncclBroadcast) broadcast = find<decltype(&ncclBroadcast)>("ncclBroadcast");
    decltype(&ncclSend) send = find<decltype(&ncclSend)>("ncclSend");
    decltype(&ncclRecv) recv = find<decltype(&ncclRecv)>("ncclRecv");
    decltype(&ncclGroupStart) group_start = find<decltype(&ncclGroupStart)>("ncclGroupStart");
    decltype(&ncclGroupEnd) group_end = find<decltype(&ncclGroupEnd)>("ncclGroupEnd");
};

Library& library() {
    static Library loaded;
    return loaded;
}

}  // namespace

struct NcclCalls::Communicator {
    ncclComm_t raw = nullptr;
    ncclResult_t last = ncclSuccess;
    bool finishing = false;
    bool ended = false;  // NCCL has freed it
    // Shrinks that are not known to be over: until then a thread of NCCL's may write a child's
    // `raw`, also where nobody wants the child any more. An abort of the parent waits for it.
    std::vector<Handle> children;
    ~Communicator() {
        // After an orderly end there is only memory of this process left to free; before one,
        // destroying could wait for ranks that are gone.
        if (raw != nullptr && !ended) {
            static_cast<void>(finishing ? library().destroy(raw) : library().abort(raw));
        }
    }
    ncclComm_t seen() { return std::atomic_ref(raw).load(std::memory_order_acquire); }
};

namespace {

ncclDataType_t type_of(Reduction reduction) {
    switch (reduction) {
        case Reduction::sum_single:
        case Reduction::maximum_single: return ncclFloat32;
        case Reduction::sum_half: return ncclFloat16;
        case Reduction::sum_int8: return ncclInt8;
        case Reduction::sum_int32: return ncclInt32;
        case Reduction::sum_int16: break;  // widened before it comes here
    }
    INVARIANT(false);
    return ncclFloat32;
}

class NcclLibrary final : public NcclCalls {
public:
    explicit NcclLibrary(int device) : device_(device), stream_(on(device)) {
        const std::string refused = nccl_missing();
        if (!refused.empty()) throw std::runtime_error(refused);
    }

    NcclId new_id() override {
        ncclUniqueId raw;
        const ncclResult_t result = library().get_unique_id(&raw);
        if (result != ncclSuccess) throw std::runtime_error(library().get_error_string(result));
        NcclId id;
        static_assert(sizeof raw.internal == sizeof id);
        std::memcpy(id.data(), raw.internal, sizeof raw.internal);
        return id;
    }

    Handle init(const NcclId& id, int rank, int size) override {
        set_device();
        ncclUniqueId raw;
        std::memcpy(raw.internal, id.data(), sizeof raw.internal);
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        auto made = std::make_shared<Communicator>();
        made->last = library().init_rank_config(&made->raw, size, raw, rank, &config);
        return made;
    }

    Handle shrink(const Handle& parent, std::span<const int> excluded) override {
        set_device();
        std::vector<int> ranks(excluded.begin(), excluded.end());
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        auto made = std::make_shared<Communicator>();
        parent->children.push_back(made);
        made->last = library().shrink(parent->raw, ranks.data(), static_cast<int>(ranks.size()),
                                      &made->raw, &config, NCCL_SHRINK_DEFAULT);
        return made;
    }

    NcclState state(const Handle& of) override {
        if (of->ended) return NcclState::failed;
        if (of->last != ncclSuccess && of->last != ncclInProgress) return NcclState::failed;
        // A shrink's child is put there by a thread of NCCL's, at its end.
        ncclComm_t raw = of->seen();
        if (raw == nullptr) return NcclState::in_progress;
        ncclResult_t now = ncclSuccess;
        const ncclResult_t asked = library().get_async_error(raw, &now);
        of->last = asked == ncclSuccess ? now : asked;
        if (of->last == ncclInProgress) return NcclState::in_progress;
        if (of->last == ncclSuccess) of->children.clear();
        return of->last == ncclSuccess ? NcclState::done : NcclState::failed;
    }

    std::string why(const Handle& of) override {
        if (!of || of->ended) return "the communicator has ended";
        return library().get_error_string(of->last);
    }

    NcclState all_reduce(const Handle& on, Reduction reduction,
                         std::span<std::byte> elements) override {
        use_device();
        const ncclRedOp_t operation = reduction == Reduction::maximum_single ? ncclMax : ncclSum;
        return launched(
            on, library().all_reduce(elements.data(), elements.data(),
                                     elements.size() / element_bytes(reduction), type_of(reduction),
                                     operation, on->raw, stream_.get()));
    }
    NcclState all_gather(const Handle& on, const std::byte* own, std::size_t bytes,
                         std::byte* all) override {
        use_device();
        return launched(on,
                        library().all_gather(own, all, bytes, ncclUint8, on->raw, stream_.get()));
    }
    NcclState broadcast(const Handle& on, std::span<std::byte> bytes, int root) override {
        use_device();
        return launched(on, library().broadcast(bytes.data(), bytes.data(), bytes.size(), ncclUint8,
                                                root, on->raw, stream_.get()));
    }
    NcclState exchange(const Handle& on, int peer, std::span<const std::byte> out,
                       std::byte* in) override {
        use_device();
        // Both ways in one group: alone, each would wait for the other.
        ncclResult_t result = library().group_start();
        const auto add = [&](ncclResult_t next) {
            if (result == ncclSuccess || result == ncclInProgress) result = next;
        };
        add(library().send(out.data(), out.size(), ncclUint8, peer, on->raw, stream_.get()));
        add(library().recv(in, out.size(), ncclUint8, peer, on->raw, stream_.get()));
        add(library().group_end());
        return launched(on, result);
    }

    NcclState stream() override {
        use_device();
        const cudaError_t code = cudaStreamQuery(stream_.get());
        if (code == cudaErrorNotReady) return NcclState::in_progress;
        return code == cudaSuccess ? NcclState::done : NcclState::failed;
    }

    void finish(const Handle& of) override {
        ncclComm_t raw = of->seen();
        if (of->ended || raw == nullptr) return;
        of->finishing = true;
        of->last = library().finalize(raw);
    }
    void abort(const Handle& of) override {
        ncclComm_t raw = of->seen();
        if (of->ended || raw == nullptr) return;  // a child that has not come is its parent's
        of->ended = true;
        static_cast<void>(library().abort(raw));
    }

    bool reaches(const void* memory) override {
        use_device();
        cudaPointerAttributes about{};
        if (cudaPointerGetAttributes(&about, memory) != cudaSuccess) {
            static_cast<void>(cudaGetLastError());  // an old driver complains about host memory
            return false;
        }
        return about.type == cudaMemoryTypeDevice && about.device == device_;
    }

    std::shared_ptr<std::byte> staging(std::size_t bytes) override {
        void* raw = nullptr;
        set_device();
        cuda::check(cudaMalloc(&raw, bytes));
        return {static_cast<std::byte*>(raw),
                [](std::byte* memory) { static_cast<void>(cudaFree(memory)); }};
    }
    std::shared_ptr<std::byte> pinned(std::size_t bytes) override {
        set_device();
        return cuda::pinned_memory(bytes);
    }
    NcclState copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
        use_device();
        const cudaError_t code = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get());
        return code == cudaSuccess ? NcclState::in_progress : NcclState::failed;
    }

    std::chrono::nanoseconds now() override {
        return std::chrono::steady_clock::now().time_since_epoch();
    }
    void pause() override { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

private:
    static cuda::Stream on(int device) {
        cuda::check(cudaSetDevice(device));
        return cuda::make_stream();
    }
    // CUDA's current device is a thread's own, callers may be any thread, and a call makes a
    // context on that device whatever it is about: a second one on the first GPU takes its memory.
    void set_device() const { cuda::check(cudaSetDevice(device_)); }
    // The same where nothing may be thrown: what fails shows in the call that follows.
    void use_device() const { static_cast<void>(cudaSetDevice(device_)); }

    static NcclState launched(const Handle& on, ncclResult_t result) {
        on->last = result;
        if (result == ncclSuccess) return NcclState::done;
        return result == ncclInProgress ? NcclState::in_progress : NcclState::failed;
    }

    int device_;
    cuda::Stream stream_;
};

}  // namespace

std::string nccl_missing() {
    if (!library().missing.empty()) return "no NCCL: " + library().missing;
    int version = 0;
    if (library().get_version(&version) != ncclSuccess || version < 22800) {
        return "NCCL 2.28 or later is needed, found version code " + std::to_string(version);
    }
    return {};
}

std::unique_ptr<NcclCalls> make_nccl(int device) {
    const std::string missing = cuda::gpu_missing();
    if (!missing.empty()) throw std::runtime_error("NCCL: " + missing);
    return std::make_unique<NcclLibrary>(device);
}

}  // namespace ukemi::kernels
