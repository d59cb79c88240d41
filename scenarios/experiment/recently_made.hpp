// recently_made.hpp — values that several threads need soon after one another: each is made once
// and kept while it is among the last few that anybody asked for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace ukemi::scenarios {

template <class Key, class Value>
class RecentlyMade {
public:
    explicit RecentlyMade(std::size_t kept_most) : kept_most_(kept_most) {}

    // `make` is called by the first who asks; those who ask meanwhile wait for it. Where it throws,
    // the next one tries again.
    template <class Make>
    std::shared_ptr<const Value> get(const Key& key, Make make) {
        const std::shared_ptr<Entry> entry = entry_of(key);
        const std::scoped_lock lock(entry->mutex);
        if (!entry->value) entry->value.emplace(make());
        return {entry, &*entry->value};
    }

private:
    struct Entry {
        explicit Entry(const Key& of) : key(of) {}
        Key key;
        std::mutex mutex;
        std::optional<Value> value;
    };

    std::shared_ptr<Entry> entry_of(const Key& key) {
        const std::scoped_lock lock(mutex_);
        auto at = std::ranges::find_if(entries_, [&](const auto& one) { return one->key == key; });
        if (at == entries_.end()) {
            if (entries_.size() == kept_most_) entries_.pop_back();
            entries_.push_back(std::make_shared<Entry>(key));
            at = entries_.end() - 1;
        }
        std::rotate(entries_.begin(), at, at + 1);
        return entries_.front();
    }

    std::mutex mutex_;
    std::size_t kept_most_;
    std::vector<std::shared_ptr<Entry>> entries_;  // the last asked for first
};

}  // namespace ukemi::scenarios
