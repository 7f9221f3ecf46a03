// A search as a program, for processors that only an emulator has here: everything on standard
// input in the order it is read below, the ids of each source's best hypothesis on standard output.

#include <cstdio>
#include <cstring>
#include <vector>

#include "search.h"

template <class T>
std::vector<T> read(int64_t n) {
    std::vector<T> numbers(n);
    if (std::fread(numbers.data(), sizeof(T), n, stdin) != static_cast<size_t>(n)) throw 1;
    return numbers;
}

int main(int, char** arguments) {
    const Shape shape = read<Shape>(1)[0];
    const Variant* variant = choose(arguments[1]);
    if (!variant) return 3;
    Model model(shape, std::strcmp(arguments[2], "int8") ? variant->float32 : variant->int8);
    for (const Parameter& parameter : model.parameters)
        parameter.take(read<float>(parameter.n_rows * parameter.n_columns).data());
    const Settings settings = read<Settings>(1)[0];
    std::vector<Ids> sources;
    for (const int32_t length : read<int32_t>(read<int32_t>(1)[0]))
        sources.push_back(Ids(length));
    for (Ids& source : sources) source = read<int32_t>(source.size());
    for (const auto& hypotheses : search(model, sources, {}, settings)) {
        for (const int32_t id : hypotheses[0].ids) std::printf("%d ", id);
        std::puts("");
    }
}
