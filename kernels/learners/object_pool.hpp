// object_pool.hpp — objects that are made once and handed out again and again: batches of pinned
// memory, replicas of a model, workspaces.
//
// What is expensive is made when it is first needed (a replica that is never used is never made)
// and kept until the pool goes. Letting go of the lease gives an object back. From any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/invariant.hpp"

namespace ukemi::kernels {

template <class Object>
class ObjectPool {
public:
    using Make = std::function<std::unique_ptr<Object>()>;
    // At most so many at once.
    ObjectPool(std::size_t most, Make make) : most_(most), make_(std::move(make)) {
        INVARIANT(most >= 1);
    }
    ~ObjectPool() { INVARIANT(free_.size() == made_); }  // nobody has one left
    ObjectPool(const ObjectPool&) = delete;
    ObjectPool& operator=(const ObjectPool&) = delete;

    class Lease {
    public:
        Lease() = default;
        Lease(ObjectPool& pool, std::unique_ptr<Object> object)
            : pool_(&pool), object_(std::move(object)) {}
        Lease(Lease&& other) noexcept
            : pool_(std::exchange(other.pool_, nullptr)), object_(std::move(other.object_)) {}
        Lease& operator=(Lease&& other) noexcept {
            std::swap(pool_, other.pool_);
            std::swap(object_, other.object_);
            return *this;
        }
        ~Lease() {
            if (pool_ != nullptr) pool_->give_back(std::move(object_));
        }
        Object* operator->() const { return object_.get(); }
        Object& operator*() const { return *object_; }
        explicit operator bool() const { return object_ != nullptr; }

    private:
        ObjectPool* pool_ = nullptr;
        std::unique_ptr<Object> object_;
    };

    // Waits until one is free; an empty lease after `close`.
    Lease take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || !free_.empty() || made_ < most_; });
        if (closed_) return {};
        return take_now(lock);
    }
    void close() {  // those who wait, and come later, get nothing
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
    }

    std::size_t made() const {
        const std::lock_guard lock(mutex_);
        return made_;
    }
    std::size_t taken() const {  // leases handed out so far
        const std::lock_guard lock(mutex_);
        return taken_;
    }

private:
    Lease take_now(std::unique_lock<std::mutex>& lock) {
        ++taken_;
        if (!free_.empty()) {
            std::unique_ptr<Object> object = std::move(free_.back());
            free_.pop_back();
            return {*this, std::move(object)};
        }
        ++made_;
        lock.unlock();  // making one may take long
        try {
            return {*this, make_()};
        } catch (...) {
            lock.lock();
            --made_;
            changed_.notify_one();  // who waits for a free one may make one now
            throw;
        }
    }
    void give_back(std::unique_ptr<Object> object) {
        {
            const std::lock_guard lock(mutex_);
            free_.push_back(std::move(object));
        }
        changed_.notify_one();
    }

    const std::size_t most_;
    const Make make_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::unique_ptr<Object>> free_;
    std::size_t made_ = 0;
    std::size_t taken_ = 0;
    bool closed_ = false;
};

}  // namespace ukemi::kernels
