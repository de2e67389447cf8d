; For llc: the only source of sm_20 and of 32-bit addresses.
target triple = "nvptx64-nvidia-cuda"

@table = addrspace(4) global [4 x i16] [i16 1, i16 -2, i16 3, i16 4], align 2
@tile = internal addrspace(3) global [64 x float] undef, align 4
@message = private addrspace(1) constant [6 x i8] c"hello\00"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
declare float @llvm.fma.f32(float, float, float)
declare i32 @llvm.ctpop.i32(i32)
declare <2 x double> @llvm.fabs.v2f64(<2 x double>)

define i64 @mix(i64 %a, i8 %b, {i32, float} %c) noinline {
  %wide = sext i8 %b to i64
  %sum = add i64 %a, %wide
  %part = extractvalue {i32, float} %c, 0
  %more = zext i32 %part to i64
  %product = mul i64 %sum, %more
  ret i64 %product
}

define void @kernel(ptr addrspace(1) %in, ptr addrspace(1) %out, i1 %flip, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %inside = icmp ult i32 %tid, %n
  br i1 %inside, label %work, label %done

work:
  %wide = zext i32 %tid to i64
  %from = getelementptr <4 x float>, ptr addrspace(1) %in, i64 %wide
  %vector = load <4 x float>, ptr addrspace(1) %from, align 16
  %x = extractelement <4 x float> %vector, i32 0
  %y = extractelement <4 x float> %vector, i32 3
  %z = call float @llvm.fma.f32(float %x, float %y, float 1.5)
  %slot = getelementptr [64 x float], ptr addrspace(3) @tile, i32 0, i32 %tid
  store float %z, ptr addrspace(3) %slot, align 4
  call void @llvm.nvvm.barrier0()
  %other = load float, ptr addrspace(3) @tile, align 4
  %integer = fptosi float %other to i32
  %bits = call i32 @llvm.ctpop.i32(i32 %integer)
  %narrow = trunc i32 %bits to i8
  %pair = insertvalue {i32, float} {i32 7, float 0.0}, float %x, 1
  %mixed = call i64 @mix(i64 %wide, i8 %narrow, {i32, float} %pair)
  %chosen = select i1 %flip, i64 %mixed, i64 %wide
  %old = atomicrmw add ptr addrspace(1) %out, i64 %chosen seq_cst
  %quotient = udiv i64 %old, 10
  %third = getelementptr [4 x i16], ptr addrspace(4) @table, i32 0, i32 2
  %constant = load i16, ptr addrspace(4) %third
  %long = sext i16 %constant to i64
  %result = or i64 %quotient, %long
  store i64 %result, ptr addrspace(1) %out, align 8
  br label %done

done:
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{ptr @kernel, !"kernel", i32 1}
