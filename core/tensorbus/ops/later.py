"""For ``families.py``: what modules declare that are imported when they are touched.

Written by ``scripts/stubs``.
"""

LATER = """\
functions creation.ranges arange range linspace logspace
rows creation.ranges arange
functions creation.windows hann_window hamming_window bartlett_window blackman_window kaiser_window
rows fft.rows fft_c2c fft_real fft_r2c fft_real_half fft_c2r fft_c2r_forward
functions fft.short_time stft istft
methods fft.short_time stft istft
functions indexing.gathering gather take_along_dim take index_select index_put put index_add
functions indexing.gathering index_copy index_fill
methods indexing.gathering gather take_along_dim take index_select index_put_ index_put put_ put
methods indexing.gathering index_add_ index_add index_copy_ index_copy index_fill_ index_fill
functions indexing.index_arithmetic unravel_index nonzero_static index_reduce
methods indexing.index_arithmetic nonzero_static index_reduce index_reduce_
functions indexing.masking where masked_fill masked_select masked_scatter nonzero argwhere
methods indexing.masking where masked_fill masked_fill_ masked_select masked_scatter masked_scatter_
methods indexing.masking nonzero argwhere
rows indexing.masking where
rows indexing.rows take picked_along gather put scatter index_add_zeros scatter_add_zeros
functions indexing.scattering scatter scatter_add scatter_reduce
methods indexing.scattering scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_
rows indexing.scattering scatter_set scatter_add scatter_mul scatter_amax scatter_amin
functions indexing.written_views select_scatter slice_scatter diagonal_scatter as_strided_scatter
methods indexing.written_views select_scatter slice_scatter diagonal_scatter as_strided_scatter
functions joining.rearranging tile repeat_interleave flip fliplr flipud roll rot90
methods joining.rearranging repeat tile repeat_interleave flip fliplr flipud roll rot90
rows joining.rearranging flip
functions linalg.cholesky cholesky
methods linalg.cholesky cholesky
rows linalg.cholesky linalg_cholesky
functions linalg.determinants det slogdet logdet
methods linalg.determinants det slogdet logdet
rows linalg.determinants linalg_det linalg_slogdet determinant log_determinant determinant_sign
rows linalg.determinants without_zero_pivots
rows linalg.eigenvalues linalg_eigh linalg_eigvalsh
rows linalg.general_eigenvalues linalg_eig linalg_eigvals
rows linalg.ldl linalg_ldl linalg_ldl_solve
rows linalg.least_squares linalg_lstsq least_squares
functions linalg.lobpcg lobpcg
functions linalg.low_rank svd_lowrank pca_lowrank
rows linalg.lu linalg_lu solved inverted linalg_solve linalg_inv exchanged exchange_matrix
rows linalg.lu triangular_factors
functions linalg.lu_functions lu lu_unpack lu_solve
methods linalg.lu_functions lu lu_solve
functions linalg.matrix_norms norm nuclear_norm frobenius_norm
methods linalg.matrix_norms norm
rows linalg.matrix_norms extreme_sum
functions linalg.older_names symeig eig solve gesv lstsq trtrs potrf potrs potri btrifact
functions linalg.older_names btrifact_with_info btrisolve btriunpack matrix_rank
methods linalg.older_names symeig eig solve gesv lstsq trtrs potrf potrs potri btrifact
methods linalg.older_names btrifact_with_info btrisolve
functions linalg.powers matrix_power matrix_exp
methods linalg.powers matrix_power matrix_exp
functions linalg.pseudo_inverse pinverse
methods linalg.pseudo_inverse pinverse
rows linalg.pseudo_inverse pseudo_inverse
functions linalg.qr qr
methods linalg.qr qr
rows linalg.qr linalg_qr linalg_qr_r
functions linalg.reflections orgqr geqrf ormqr
methods linalg.reflections orgqr geqrf ormqr
rows linalg.reflections linalg_geqrf
functions linalg.singular_values svd
methods linalg.singular_values svd
rows linalg.singular_values linalg_svd linalg_svdvals
functions linalg.solving inverse cholesky_solve cholesky_inverse
methods linalg.solving inverse cholesky_solve cholesky_inverse
functions linalg.triangular triangular_solve
methods linalg.triangular triangular_solve
rows linalg.triangular linalg_solve_triangular
functions matmul.einsum einsum
functions matmul.matmul matmul mm bmm mv dot outer addmm addmv baddbmm
methods matmul.matmul matmul __matmul__ mm bmm mv dot outer addmm addmm_ addmv addmv_ baddbmm
methods matmul.matmul baddbmm_
rows matmul.matmul matmul linear
functions matmul.products ger vdot inner addr addbmm tensordot kron cross chain_matmul cdist
methods matmul.products ger vdot inner addr addr_ addbmm addbmm_ kron cross
functions matmul.triangles tril triu tril_indices triu_indices diag_embed diag diagflat trace
methods matmul.triangles tril triu tril_ triu_ diag_embed diag diagflat fill_diagonal_ trace
rows matmul.triangles tril triu
functions nn.activation silu softmax log_softmax dropout
methods nn.activation silu silu_ softmax log_softmax
rows nn.activation softmax softmax_backward log_softmax log_softmax_backward hardtanh hardsigmoid
rows nn.activation hardswish hardshrink softshrink prelu_kernel leaky_relu elu softplus threshold
rows nn.activation gelu gelu_backward gelu_tanh log_sigmoid silu dropout_scale
methods nn.activation_methods hardshrink prelu
rows nn.bags bag_sum bag_spread bag_rows bag_products bag_max bag_max_backward
rows nn.columns im2col col2im
rows nn.convolution convolution conv2d conv2d_input conv2d_weight
rows nn.ctc ctc_loss ctc_loss_backward ctc_step
rows nn.losses nll_rows nll_rows_backward cross_entropy cross_entropy_backward softmax_statistics
rows nn.losses class_shares scaled_exponentials distances_below bce_logits bce outside_unit
rows nn.losses bce_backward smooth_l1
rows nn.normalization layer_norm rms_norm batch_norm batch_norm_inference normalize_input
rows nn.normalization normalize_weight sum_to_dims
rows nn.padding pad unpad
rows nn.pooling max_pool2d max_pool2d_indices max_pool2d_backward picked unpooled avg_pool2d
rows nn.pooling avg_pool2d_backward
rows nn.recurrent lstm_layer lstm_layer_backward gru_layer gru_layer_backward rnn_layer
rows nn.recurrent rnn_layer_backward recurrent_products
rows nn.resampling resampled sampled sampled_spread sampled_products
rows nn.volumes conv3d conv3d_input conv3d_weight
rows pointwise.airy airy_ai
special pointwise.airy airy_ai
rows pointwise.bessel bessel_j0 bessel_j1 bessel_y0 bessel_y1 spherical_bessel_j0
special pointwise.bessel bessel_j0 bessel_j1 bessel_y0 bessel_y1 spherical_bessel_j0
functions pointwise.clamp clamp clip clamp_min clamp_max
methods pointwise.clamp clamp clamp_ clip clip_ clamp_min clamp_min_ clamp_max clamp_max_
rows pointwise.clamp clamp_min clamp_max clamp clamp_min_tensor clamp_max_tensor clamp_tensors
functions pointwise.comparison equal isclose allclose isposinf isneginf isreal is_nonzero is_signed
functions pointwise.comparison is_same_size
methods pointwise.comparison equal isclose allclose isposinf isneginf isreal is_nonzero is_signed
methods pointwise.comparison is_same_size eq_ ne_ not_equal_ lt_ less_ le_ less_equal_ gt_ greater_
methods pointwise.comparison ge_ greater_equal_ logical_and_ logical_or_ logical_xor_ logical_not_
functions pointwise.incomplete_gamma igamma igammac
methods pointwise.incomplete_gamma igamma igamma_ igammac igammac_
rows pointwise.incomplete_gamma igamma igammac
functions pointwise.modified_bessel i0
methods pointwise.modified_bessel i0 i0_
rows pointwise.modified_bessel i0 i0e i1 i1e modified_bessel_i0 modified_bessel_i1
rows pointwise.modified_bessel modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0
rows pointwise.modified_bessel scaled_modified_bessel_k1
special pointwise.modified_bessel i0e i1 i1e modified_bessel_i0 modified_bessel_i1
special pointwise.modified_bessel modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0
special pointwise.modified_bessel scaled_modified_bessel_k1
rows pointwise.orthogonal_polynomials orthogonal_polynomial
special pointwise.orthogonal_polynomials chebyshev_polynomial_t shifted_chebyshev_polynomial_t
special pointwise.orthogonal_polynomials chebyshev_polynomial_u shifted_chebyshev_polynomial_u
special pointwise.orthogonal_polynomials chebyshev_polynomial_v shifted_chebyshev_polynomial_v
special pointwise.orthogonal_polynomials chebyshev_polynomial_w shifted_chebyshev_polynomial_w
special pointwise.orthogonal_polynomials hermite_polynomial_h hermite_polynomial_he
special pointwise.orthogonal_polynomials laguerre_polynomial_l legendre_polynomial_p
rows pointwise.probability_functions erfcx ndtr log_ndtr ndtri entr xlog1py
special pointwise.probability_functions erfcx ndtr log_ndtr ndtri entr xlog1py
rows pointwise.slopes asin_slope acosh_slope atanh_slope sigmoid_backward relu_backward
functions pointwise.special erf erfc erfinv lgamma digamma sinc deg2rad rad2deg logaddexp2 xlogy
functions pointwise.special logit polygamma mvlgamma
methods pointwise.special erf erf_ erfc erfc_ erfinv erfinv_ lgamma lgamma_ digamma digamma_ sinc
methods pointwise.special sinc_ deg2rad deg2rad_ rad2deg rad2deg_ logaddexp2 xlogy xlogy_ logit
methods pointwise.special logit_ polygamma polygamma_ mvlgamma mvlgamma_
rows pointwise.special erf erfc erfinv lgamma digamma polygamma sinc deg2rad rad2deg logit
rows pointwise.special logaddexp2 xlogy
rows pointwise.zeta zeta
special pointwise.zeta zeta
functions random.choices bernoulli multinomial
methods random.choices bernoulli multinomial
functions random.counts poisson binomial
methods random.in_place uniform_ normal_ random_ bernoulli_ exponential_ cauchy_ log_normal_
methods random.in_place geometric_
functions random.normals normal
functions random.random rand randn randint randperm rand_like randn_like randint_like
rows random.random random_bits uniform unit_floats normal integers
functions reduce.counting searchsorted bucketize isin bincount histc count_nonzero
methods reduce.counting bucketize bincount histc count_nonzero
rows reduce.counting searchsorted bincount
functions reduce.hashing hash_tensor
methods reduce.hashing hash_tensor
functions reduce.histograms histogram histogramdd
methods reduce.histograms histogram
functions reduce.norms dist
methods reduce.norms dist
rows reduce.norms vector_norm sum_of_squares largest_size
functions reduce.quantiles quantile nanquantile renorm
methods reduce.quantiles quantile nanquantile renorm renorm_ sum_to_size
rows reduce.reduction_rows sum sum_long mean prod amax amin max_of_all min_of_all valued argmax
rows reduce.reduction_rows argmin any all cumsum cumprod cummax cummin var std logsumexp
functions reduce.reductions sum mean prod amax amin argmax argmin any all var std logsumexp cumsum
functions reduce.reductions cumprod
methods reduce.reductions sum mean prod amax amin argmax argmin any all var std logsumexp cumsum
methods reduce.reductions cumsum_ cumprod cumprod_
functions reduce.segments segment_reduce
functions reduce.slopes gradient
functions reduce.sorting sort argsort msort topk kthvalue median nanmedian mode max min aminmax
functions reduce.sorting cummax cummin
methods reduce.sorting sort argsort msort topk kthvalue median nanmedian mode max min aminmax cummax
methods reduce.sorting cummin
rows reduce.sorting argsort argsort_down top_indices kth_index
functions reduce.statistics logcumsumexp std_mean var_mean nansum nanmean diff cov corrcoef
functions reduce.statistics trapezoid trapz cumulative_trapezoid
methods reduce.statistics logcumsumexp nansum nanmean diff cov corrcoef
rows reduce.statistics logcumsumexp
functions reduce.unique unique unique_consecutive
methods reduce.unique unique unique_consecutive
methods tensor.array_namespace __array_namespace__ to_device
functions tensor.conversion dequantize
methods tensor.conversion to float double half bfloat16 int long short char byte bool chalf cfloat
methods tensor.conversion cdouble cpu cuda to_dense dequantize pin_memory is_pinned type type_as
methods tensor.host_functions apply_ map_ map2_
methods tensor.memory untyped_storage storage storage_type resize_ set_ record_stream as_subclass
methods tensor.memory is_set_to
functions tensor.older_names resize_as_ is_distributed typename
methods tensor.older_names __div__ __idiv__ __rdiv__ __long__ masked_copy_ resize_as_ resize
methods tensor.older_names resize_as reinforce module_load is_distributed
methods tensor.shared_memory is_shared share_memory_
methods tensor.sparse_methods to_sparse to_sparse_coo to_sparse_csr to_sparse_csc to_sparse_bsr
methods tensor.sparse_methods to_sparse_bsc sparse_mask indices values coalesce is_coalesced
methods tensor.sparse_methods crow_indices col_indices ccol_indices row_indices _indices _values
methods tensor.sparse_methods _nnz _coalesced_ sparse_resize_ sparse_resize_and_clear_ smm sspaddmm
methods tensor.wrapping _make_subclass _make_wrapper_subclass
functions views.in_place as_strided_
methods views.in_place t_ transpose_ swapaxes_ swapdims_ squeeze_ unsqueeze_ as_strided_
functions views.shape reshape broadcast_to unsqueeze squeeze flatten ravel unflatten
methods views.shape view reshape view_as reshape_as expand expand_as broadcast_to unsqueeze squeeze
methods views.shape flatten ravel unflatten
functions views.strided narrow narrow_copy select as_strided diagonal
methods views.strided narrow narrow_copy select as_strided diagonal unfold
functions views.unsafe_splitting unsafe_chunk unsafe_split unsafe_split_with_sizes
methods views.unsafe_splitting unsafe_chunk unsafe_split unsafe_split_with_sizes
"""
