// large_pages.hpp — memory for long lists in pages of 2 MiB, where the system has them.
//
// The kernel gives memory page by page as it is touched, and clearing many small pages takes longer
// than filling them. Short lists are as usual.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace ukemi {

template <class T>
struct LargePages {
    using value_type = T;
    LargePages() = default;
    template <class Other>
    LargePages(const LargePages<Other>&) {}

    T* allocate(std::size_t count) {
        if (count > SIZE_MAX / 2 / sizeof(T)) throw std::bad_array_new_length();
        const std::size_t bytes = count * sizeof(T);
        if (bytes < page) return static_cast<T*>(::operator new(bytes));
        const std::size_t whole = (bytes + page - 1) / page * page;
        void* const memory = ::operator new(whole, std::align_val_t{page});
        // Advice: where it is not taken, pages are small ones.
        static_cast<void>(::madvise(memory, whole, MADV_HUGEPAGE));
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t count) {
        if (count * sizeof(T) < page) return ::operator delete(memory);
        ::operator delete(memory, std::align_val_t{page});
    }
    template <class Other>
    bool operator==(const LargePages<Other>&) const {
        return true;
    }

private:
    static constexpr std::size_t page = std::size_t{2} << 20;
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
};

// For lists that may be long.
template <class T>
using LongList = std::vector<T, LargePages<T>>;

}  // namespace ukemi
