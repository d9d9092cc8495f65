// msaccucmp: compares dumps. It is a part of the library, which writes them.
extern "C" int updraft_compare(int argc, const char* const* argv);

int main(int argc, char** argv) { return updraft_compare(argc, argv); }
